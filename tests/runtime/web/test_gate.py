"""The gate by rule: how a URL is cut, spelled and refused, and that no spelling gets an address past it."""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import Misconfigured, Refused
from runtime.settings import FetchPolicy
from runtime.web.gate import Target, check_addresses, check_url, resolve_reference, validate
from tests.safety.ssrf import is_good, policy_of

OPEN = FetchPolicy()
POLICY = policy_of(Path(__file__).parents[2] / "data" / "safety")
LAPTOP = FetchPolicy(allow_networks=("127.0.0.0/8", "::1/128"), allow_any_port=True)


def code_of(url: str, policy: FetchPolicy = OPEN) -> str:
    with pytest.raises(Refused) as caught:
        check_url(url, policy)
    return caught.value.code


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://Example.COM:443/A?b=C#frag", "https://example.com/A?b=C"),
        ("http://example.com:/x", "http://example.com/x"),
        ("http://example.com:0080/x", "http://example.com/x"),
        ("https://example.com./x", "https://example.com/x"),
        ("https://example.com?q", "https://example.com/?q"),
        ("https://example.com/a/./b/../c/", "https://example.com/a/c/"),
        ("https://example.com/a/%2e%2E/b/..", "https://example.com/"),
        ("https://example.com/../../x", "https://example.com/x"),
        ("https://example.com/a//b/.../..c", "https://example.com/a//b/.../..c"),
        ("https://example.com/caf\u00e9?\u00fc=1", "https://example.com/caf%C3%A9?%C3%BC=1"),
        ("https://example.com/100%/%zz", "https://example.com/100%/%zz"),
        ("https://example.com/<a>{b}", "https://example.com/%3Ca%3E%7Bb%7D"),
        ("https://fa\u00df.de/", "https://xn--fa-hia.de/"),
        ("https://XN--BCHER-KVA.example/", "https://xn--bcher-kva.example/"),
        ("https://\u4f8b\u3048.jp/", "https://xn--r8jz45g.jp/"),
        ("https://exa\u00admple.com/", "https://example.com/"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        ("http://[2606:4700:4700::ABCD]/", "http://[2606:4700:4700::abcd]/"),
        ("http://[2606:4700:4700::1111]:8080/", "http://[2606:4700:4700::1111]:8080/"),
    ],
)
def test_a_url_has_one_canonical_spelling(url: str, canonical: str) -> None:
    """What leaves is spelled by RFC 3986 6.2 and IDNA 2008; judging it again changes nothing."""
    target = check_url(url, OPEN)
    assert target.url == canonical
    assert check_url(canonical, OPEN) == target


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "scheme_missing"),
        ("localhost", "scheme_missing"),
        ("example.com:8080/x", "scheme_missing"),
        ("http://", "url_malformed"),
        ("http:/example.com/", "url_malformed"),
        ("http:example.com", "url_malformed"),
        ("http://../", "url_malformed"),
        ("http://a..b/", "url_malformed"),
        ("http://-a.com/", "url_malformed"),
        ("http://a,b.com/", "url_malformed"),
        ("http://::1/", "url_malformed"),
        ("http://1.2.3.4:80:80/", "url_malformed"),
        ("http://[::1]x/", "url_malformed"),
        ("http://[fe80::1%25eth0]/", "host_percent"),
        ("http://\ud83d.com/", "url_malformed"),
        ("http://\u2603.net/", "url_malformed"),
        ("http://xn--0.com/", "url_malformed"),
        ("http://xn--localhost-/", "url_malformed"),
        ("http://" + "a" * 64 + ".com/", "host_too_long"),
        ("http://" + "a." * 126 + "com/", "host_too_long"),
        ("http://example.com/" + "\u4e00" * 700, "url_too_long"),
        ("http://127\u30020\u30020\u30021/", "host_unicode_dot"),
        ("http://example\uff0ecom/", "host_unicode_dot"),
        ("http://example.com\uff0f.evil.com/", "host_unicode_dot"),
        ("http://evil.c\u2100.com/", "host_unicode_dot"),
        ("http://\uff10\uff58\uff17\uff46.1/", "ip_noncanonical"),
        ("http://1.2.3.4.5/", "ip_noncanonical"),
        ("http://foo.0x7f/", "ip_noncanonical"),
        ("http://0x/", "ip_noncanonical"),
        ("http://1.1.1.1\u00ad/", "ip_noncanonical"),
        ("http://[2606:4700:4700:0::1111]/", "ip_noncanonical"),
        ("http://loc\u00adalhost/", "host_special_name"),
        ("http://a.home.arpa/", "host_special_name"),
        ("http://arpa/", "host_single_label"),
        ("http://example.com:\u0668\u0660/", "port"),
        ("http://example.com:0/", "port"),
        ("http://example.com:65616/", "port"),
        ("http://example.com:080808/", "port"),
        ("http://example.com:8081/", "port"),
        ("http://example.com/a b", "url_control"),
        ("http://example.com/\u3000", "url_control"),
        ("http://example.com/\x7f", "url_control"),
        ("http://example.com/\u0085", "url_control"),
        ("http+unix://%2Fvar%2Frun/", "scheme"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(url: str, code: str) -> None:
    """Each refusal names its rule."""
    assert code_of(url) == code


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://consul.service.consul/", "its last label is kept for private use"),
        ("http://kubernetes/", "a name with a dot in it"),
        ("http://127.1/", "four decimal numbers"),
        ("http://10.0.0.1/", "it is not public"),
    ],
)
def test_a_refused_host_is_told_why(url: str, said: str) -> None:
    """Who enrols a site reads a sentence, not a code."""
    with pytest.raises(Refused, match=said):
        check_url(url, OPEN)


def test_a_refusal_never_shows_more_than_a_url() -> None:
    """An endless URL is not copied into the error."""
    with pytest.raises(Refused) as caught:
        check_url("http://example.com/" + "a" * 1_000_000, OPEN)
    assert len(caught.value.url) <= 2_048
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("url", "policy", "code"),
    [
        ("http://127.0.0.1:5000/", LAPTOP, None),
        ("http://localhost:5000/", LAPTOP, None),
        ("http://[::1]:5000/", LAPTOP, None),
        ("http://localhost:5000/", FetchPolicy(allow_any_port=True), "host_special_name"),
        ("http://127.0.0.1:5000/", FetchPolicy(allow_networks=("127.0.0.0/8",)), "port"),
        ("http://10.0.0.1/", LAPTOP, "address_private"),
        ("http://foo.localhost/", LAPTOP, "host_special_name"),
        ("http://[::ffff:127.0.0.1]/", LAPTOP, "address_embedded_v4"),
        ("http://2130706433/", LAPTOP, "ip_noncanonical"),
        ("http://127.0.0.1:0/", LAPTOP, "port"),
        ("http://169.254.169.254/", FetchPolicy(allow_networks=("0.0.0.0/0",)), "address_linklocal"),
        ("http://169.254.169.254/", FetchPolicy(allow_networks=("169.254.169.254/32",)), None),
        ("http://100.100.100.200/", FetchPolicy(allow_networks=("100.64.0.0/10",)), "address_cgnat"),
        ("http://100.64.0.1/", FetchPolicy(allow_networks=("100.64.0.0/10",)), None),
        ("http://[fd00:ec2::254]/", FetchPolicy(allow_networks=("fc00::/7",)), "address_private"),
        ("http://[fd00:1::1]/", FetchPolicy(allow_networks=("fc00::/7",)), None),
    ],
)
def test_an_operator_opens_networks_and_nothing_else(url: str, policy: FetchPolicy, code: str | None) -> None:
    """`allow_networks` opens its addresses and localhost; credentials' addresses only when they are meant."""
    if code is None:
        assert check_url(url, policy).addresses
    else:
        assert code_of(url, policy) == code


def test_localhost_is_loopback_without_asking_anyone() -> None:
    """RFC 6761: the name stands for the loopback addresses that are open, and for no others."""
    only_v4 = FetchPolicy(allow_networks=("127.0.0.0/8",))
    assert check_url("http://localhost/", only_v4).addresses == ("127.0.0.1",)
    assert check_url("http://localhost/", LAPTOP).addresses == ("127.0.0.1", "::1")


def test_a_network_that_is_none_is_a_configuration_error() -> None:
    """A typing error in `allow_networks` is named at start, not at the first fetch."""
    with pytest.raises(Misconfigured, match=r"127\.0\.0\.0/33"):
        validate(FetchPolicy(allow_networks=("127.0.0.0/33",)))


def test_one_bad_answer_denies_the_name() -> None:
    """A name is as good as its worst address; what is no address is a bad one."""
    target = check_url("https://example.com/", OPEN)
    check_addresses(target, ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"], OPEN)
    for bad in ("10.0.0.1", "::1", "fe80::1%eth0", "2606:2800::1%eth0", "93.184.216.34 ", "example.net", ""):
        with pytest.raises(Refused):
            check_addresses(target, ["93.184.216.34", bad], OPEN)


BASE = check_url("http://a.example/b/c/d;p?q", OPEN)


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("g", "/b/c/g"),
        ("./g", "/b/c/g"),
        ("g/", "/b/c/g/"),
        ("/g", "/g"),
        ("?y", "/b/c/d;p?y"),
        ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"),
        ("g#s", "/b/c/g"),
        ("g?y#s", "/b/c/g?y"),
        (";x", "/b/c/;x"),
        ("g;x?y#s", "/b/c/g;x?y"),
        ("", "/b/c/d;p?q"),
        (".", "/b/c/"),
        ("./", "/b/c/"),
        ("..", "/b/"),
        ("../", "/b/"),
        ("../g", "/b/g"),
        ("../..", "/"),
        ("../../g", "/g"),
        ("../../../g", "/g"),
        ("/./g", "/g"),
        ("/../g", "/g"),
        ("g.", "/b/c/g."),
        ("..g", "/b/c/..g"),
        ("./../g", "/b/g"),
        ("./g/.", "/b/c/g/"),
        ("g/./h", "/b/c/g/h"),
        ("g;x=1/../y", "/b/c/y"),
        ("g?y/../x", "/b/c/g?y/../x"),
    ],
)
def test_references_resolve_as_in_rfc_3986_5_4(reference: str, url: str) -> None:
    """The normal and abnormal examples of the RFC, on a base with path and query."""
    assert resolve_reference(BASE, reference, OPEN).url == "http://a.example" + url


def test_a_reference_may_change_host_scheme_and_port() -> None:
    """Network-path and absolute references leave the base behind; a relative one keeps its port."""
    base = check_url("https://example.com:8443/x", OPEN)
    assert resolve_reference(base, "//example.net/y", OPEN).url == "https://example.net/y"
    assert resolve_reference(base, "http://example.net/y", OPEN).url == "http://example.net/y"
    assert resolve_reference(base, "/y", OPEN).url == "https://example.com:8443/y"


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("/\\127.0.0.1/", "url_backslash"),
        ("//127.0.0.1/", "address_loopback"),
        ("http:/127.0.0.1/", "url_malformed"),
        ("http:127.0.0.1", "url_malformed"),
        (" /x", "url_control"),
        ("/x\r\nX: y", "url_control"),
        ("javascript:alert(1)", "scheme"),
        ("///127.0.0.1/", "url_malformed"),
        ("a" * 3000, "url_too_long"),
    ],
)
def test_a_reference_is_judged_as_it_was_written(reference: str, code: str) -> None:
    """Joining must not clean up what a browser would read in another way."""
    with pytest.raises(Refused) as caught:
        resolve_reference(BASE, reference, OPEN)
    assert caught.value.code == code


# -- properties

_DIGITS = ["0123456789", "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19"]
_DIGITS += ["\u24ea\u2460\u2461\u2462\u2463\u2464\u2465\u2466\u2467\u2468"]


@st.composite
def ipv4_spellings(draw: st.DrawFn) -> str:
    """An IPv4 address in one of the ways C libraries and browsers read one."""
    number = draw(st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0x7F000001, 0xA9FEA9FE, 0x0A000001, 0])))
    parts = draw(st.integers(1, 4))
    values = [(number >> (24 - 8 * place)) & 0xFF for place in range(parts - 1)]
    values.append(number & ((1 << (8 * (5 - parts))) - 1))
    spell = st.sampled_from(["{:d}", "0{:o}", "0x{:x}", "0X{:X}", "{:03d}", "{:d}", "{:d}", "{:d}"])
    text = draw(st.sampled_from([".", ".", ".", "\u3002", "\uff0e", "\uff61", ".."])).join(
        draw(spell).format(value) for value in values
    )
    digits = draw(st.sampled_from(_DIGITS))
    return text.translate(str.maketrans("0123456789", digits)) + draw(st.sampled_from(["", "", ".", "\u00ad"]))


@st.composite
def ipv6_spellings(draw: st.DrawFn) -> str:
    """An IPv6 address, often one that carries an IPv4 address."""
    v4 = draw(st.integers(0, 2**32 - 1))
    prefix = draw(
        st.sampled_from([0, 0xFFFF << 32, 0xFFFF << 48, 0x64FF9B << 96, 0x64FF9B0001 << 80, 0xFE80 << 112, 1 << 127])
    )
    number = draw(st.sampled_from([prefix | v4, (0x2002 << 112) | (v4 << 80), draw(st.integers(0, 2**128 - 1))]))
    address = IPv6Address(number)
    return f"[{draw(st.sampled_from([str(address), address.exploded, str(address).upper()]))}]"


hosts = st.one_of(
    ipv4_spellings(),
    ipv6_spellings(),
    st.text(max_size=30),
    st.sampled_from(["localhost", "LOCALHOST.", "metadata.google.internal", "\u217cocalhost", "a.lan", "example.com"]),
)
urls = st.one_of(
    st.text(max_size=60),
    st.builds(
        "{}{}{}{}{}{}".format,
        st.sampled_from(
            ["http://", "https://", "HTTP://", "http:", "http:/", "http:///", "//", "http:\\\\", " http://"]
        ),
        st.sampled_from(["", "", "", "user@", "a:b@", "example.com\\@", "example.com%2f@"]),
        hosts,
        st.sampled_from(["", "", ":80", ":443", ":9001", ":", ":+80"]),
        st.sampled_from(["", "/", "/a", "?", "#", "\\", "/..", "\t", "\r\nHost: x"]),
        st.text(max_size=10),
    ),
)


def assert_safe(target: Target) -> None:
    """By rules that are not the product's: the policy file, libc's own parser, and the grammar of a request."""
    assert all(is_good(address, POLICY) for address in target.addresses)
    assert re.fullmatch(r"/[\x21-\x7e]*", target.path)
    assert target.port in POLICY["ports"]
    assert target.url.isascii()
    assert urlsplit(target.url).hostname == target.host
    if not target.addresses:
        assert re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", target.host)
        assert target.host.rsplit(".", 1)[1] not in POLICY["special_names"]
        with pytest.raises(OSError, match="illegal IP"):
            socket.inet_aton(target.host)


@settings(max_examples=2_000, deadline=None)
@given(urls)
def test_no_url_gets_a_bad_address_out_of_the_gate(url: str) -> None:
    """Whatever the URL: a refusal with a code, or a target that is safe by independent rules."""
    try:
        target = check_url(url, OPEN)
    except Refused:
        return
    assert_safe(target)
    assert check_url(target.url, OPEN) == target


@settings(max_examples=1_000, deadline=None)
@given(st.one_of(urls, st.text(max_size=30), hosts))
def test_no_reference_gets_a_bad_address_out_of_the_gate(reference: str) -> None:
    """The same for what a site writes into Location."""
    try:
        target = resolve_reference(BASE, reference, OPEN)
    except Refused:
        return
    assert_safe(target)


@settings(max_examples=1_000, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_ipv4_answers_are_judged_as_the_policy_says(number: int) -> None:
    """For every IPv4 address the gate and the policy's rule agree."""
    address = str(IPv4Address(number))
    assert _accepted(address) == is_good(address, POLICY)


@settings(max_examples=1_000, deadline=None)
@given(st.integers(0, 2**128 - 1) | st.integers(0x2000 << 112, (0x4000 << 112) - 1))
def test_no_ipv6_answer_the_policy_refuses_is_let_out(number: int) -> None:
    """The gate may be stricter than the rule (unassigned space), never laxer; in 2000::/3 they agree."""
    address = str(IPv6Address(number))
    if number >> 125 == 1 and (number >> 32) & 0xFFFFFFFF not in {0x5EFE, 0x02005EFE}:
        assert _accepted(address) == is_good(address, POLICY)
    else:
        assert not _accepted(address) or is_good(address, POLICY)


def _accepted(address: str) -> bool:
    try:
        check_addresses(BASE, [address], OPEN)
    except Refused:
        return False
    return True


@pytest.mark.parametrize("net", POLICY["extra_deny_nets"])
def test_both_ends_of_every_denied_network_are_refused(net: str) -> None:
    """The first and the last address of each network of the policy."""
    network = ip_network(net)
    assert not _accepted(str(network[0]))
    assert not _accepted(str(network[-1]))
