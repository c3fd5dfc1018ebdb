"""URLs: what is resolved is normal and stays so; spellings that mean the same are the same; everything asked of one holds.

An input is a base and an href, divided by a line end.
"""

from __future__ import annotations

import re
from typing import Final

from runtime import urls
from runtime.crawl.access import robots_url
from runtime.crawl.patterns import path_of
from runtime.errors import InputError
from runtime.url_syntax import document_base
from tests.cases.spelling import norm
from tests.fuzz.sitemaps import cases
from tests.fuzz.target import Target, claim

TOKENS: Final = tuple(
    text.encode()
    for text in (
        "http://", "https://", "HTTPS://", "//", "\\\\", "/", "\\", "?", "#", "@", ":", ":80", ":443", ":0", ":99999", "%", "%2e", "%2E%2e", "%2F",
        "%00", "%zz", "%41", "%e3%81%82", "..", ".", "/../", "/./", "//", ";jsessionid=A", "/(S(abcdefghijklmnopqrstuvwx))", "&PHPSESSID=1",
        "?jsessionid=", "[::1]", "[::ffff:127.0.0.1]", "127.1", "0x7f.1", "xn--", "xn--bcher-kva", "bücher", "faß", "ｅｘ", "example.com", ".",
        "www.", "javascript:", "data:", "mailto:a@b", "\t", "\n", "\r", " ", "\x00", "\x7f", "a" * 64, "a." * 130, "é", "(", ")", "[", "]", "<", ">",
        "'", '"', "|", "^", "`", "{", "}", "*", "$", "!", "+", ",", "=", "&amp;", "u:p@", "\ufeff", "\u3002", "\uff0f", "\u2100", "index.html",
    )
)  # fmt: skip


def seeds() -> list[bytes]:
    pairs = [(row["base"], row["href"]) for given in cases("resolve") for row in given["table"]]
    pairs += [pair for given in cases("same") for pair in given["pairs"]]
    pairs += [(given["site"], url) for given in cases("scope") for url in given["urls"]]
    return [f"{base}\n{href}".encode("utf-8", "surrogatepass") for base, href in pairs]


def read(data: bytes) -> object:
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    base, _, href = text.partition("\n")
    for encoding in ("cp1251", "shift_jis", "iso2022_jp"):
        other = urls.resolve(base, href, encoding=encoding)
        claim(other is None or urls.resolve(other, "") == other, f"resolved in {encoding}: {other!r} is not normal")
    found = urls.resolve(base, href)
    claim(isinstance(urls.matches(href, base), bool) and urls.matches("/**", base) in (True, False), "no verdict: ")
    return [_judge(url) for url in (found, urls.resolve(document_base(base, href), "x"))], _base(base), _base(href)


def _judge(url: str | None) -> object:
    if url is None:
        return None
    claim(url.isascii() and len(url) <= urls.MAX_URL_LENGTH, f"a URL is out of bounds: {url!r}")
    claim(urls.resolve(url, "") == url, f"resolving again changes: {url!r} {urls.resolve(url, '')!r}")
    claim(
        norm(url) == url.replace("%28", "(").replace("%29", ")"),
        f"RFC 3986 6.2.2 writes it otherwise: {url!r} {norm(url)!r}",
    )
    plain = urls.normalize(url)
    claim(urls.normalize(plain) == plain, f"normalising twice changes: {url!r} {plain!r}")
    claim(urls.same(url, plain) and urls.same_site(url, plain), f"not the same as its normal form: {url!r}")
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    port = "" if re.search(r":\d+$", host) else {"http": ":80", "https": ":443"}[scheme]
    spelled = f"{scheme.upper()}://u:p@{host.upper()}{port}{slash}./x/../{path}#f"
    claim(urls.same(url, spelled), f"another spelling is another URL: {url!r} {spelled!r}")
    claim(urls.in_scope(f"{scheme}://{host}/", url), f"not in the scope of its origin: {url!r}")
    claim(urls.in_scope(url.partition("?")[0], url) or "." in path, f"not in its own scope: {url!r}")
    claim(robots_url(url) == f"{scheme}://{host}/robots.txt", f"another robots.txt: {url!r} {robots_url(url)!r}")
    claim(path_of(url).startswith(b"/"), f"a path without a slash: {url!r}")
    claim(urls.on_origin(url, plain) == plain, f"on its own origin it is another: {url!r}")
    return plain, urls.host_of(url), urls.path_segments(url), _base(url)


def _base(text: str) -> object:
    """What enrolment would store, and its key."""
    try:
        base = urls.canonical_base_url(text)
    except InputError as error:
        claim("\n" not in str(error), f"a message of several lines: {error}")
        return str(error)
    claim(urls.canonical_base_url(base) == base, f"enrolled twice it is two sites: {base!r}")
    claim(urls.in_scope(base, urls.entry_url(base)), f"the entry is out of scope: {base!r}")
    key = urls.site_key(base)
    claim(re.fullmatch(r"[A-Za-z0-9._!/-]+", key) and ".." not in key.split("/"), f"a key that needs quoting: {key!r}")
    claim(urls.adopted_base(base, urls.entry_url(base)) == base, f"another base after no redirect: {base!r}")
    return base, key


def _features(answer: object) -> list[str]:
    """Neighbouring marks of the resolved URL, and what enrolment says."""
    assert isinstance(answer, tuple)
    marks = re.sub(r"\w+", "w", str(answer[0]))
    return [*{marks[at : at + 3] for at in range(len(marks))}, re.sub(r"\w+", "w", str(answer[1]))[:40]]


TARGETS: Final = (Target("url", seeds, TOKENS, read, _features),)
