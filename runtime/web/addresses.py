"""Which IP addresses the fetch gate lets out: global unicast, and what the operator opened.

The nets are listed here *and* `ipaddress.is_global` is asked: CPython 3.11 calls 224.0.0.1, 192.0.0.192, 2002:7f00:1::
and 64:ff9b::a9fe:a9fe global (CVE-2024-4032), and no list of ours knows tomorrow's registry. An IPv6 address that
carries an IPv4 one is refused whatever it carries: the two ends would judge different addresses.
Sources: IANA special-purpose registries, RFC 6890, RFC 4291, RFC 6052, RFC 5214, RFC 9602, RFC 9637.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from runtime.errors import Misconfigured

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_V4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(net), code)
    for net, code in (
        ("127.0.0.0/8", "address_loopback"),
        ("0.0.0.0/32", "address_loopback"),  # Linux connects the unspecified address to loopback
        ("0.0.0.0/8", "address_special"),
        ("10.0.0.0/8", "address_private"),
        ("172.16.0.0/12", "address_private"),
        ("192.168.0.0/16", "address_private"),
        ("100.64.0.0/10", "address_cgnat"),
        ("169.254.0.0/16", "address_linklocal"),
        ("192.0.0.0/24", "address_special"),
        ("192.0.2.0/24", "address_special"),
        ("192.88.99.0/24", "address_special"),
        ("198.18.0.0/15", "address_special"),
        ("198.51.100.0/24", "address_special"),
        ("203.0.113.0/24", "address_special"),
        ("168.63.129.16/32", "address_special"),  # Azure's wire server: formally global
        ("224.0.0.0/4", "address_multicast"),
        ("240.0.0.0/4", "address_reserved"),
    )
)

_V6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(net), code)
    for net, code in (
        ("::/128", "address_loopback"),
        ("::1/128", "address_loopback"),
        ("::/96", "address_embedded_v4"),
        ("::ffff:0:0/96", "address_embedded_v4"),
        ("::ffff:0:0:0/96", "address_embedded_v4"),
        ("64:ff9b::/96", "address_embedded_v4"),
        ("64:ff9b:1::/48", "address_embedded_v4"),
        ("2002::/16", "address_embedded_v4"),
        ("2001::/32", "address_embedded_v4"),
        ("2001::/23", "address_special"),
        ("2001:db8::/32", "address_special"),
        ("3fff::/20", "address_special"),
        ("5f00::/16", "address_special"),
        ("100::/64", "address_special"),
        ("100:0:0:1::/64", "address_special"),
        ("fec0::/10", "address_special"),
        ("fc00::/7", "address_private"),
        ("fe80::/10", "address_linklocal"),
        ("ff00::/8", "address_multicast"),
    )
)

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_ISATAP = (0x00005EFE, 0x02005EFE)

_METADATA: tuple[Network, ...] = tuple(
    ip_network(net)
    for net in (
        "169.254.0.0/16",
        "fe80::/10",
        "168.63.129.16/32",
        "100.100.100.200/32",
        "192.0.0.192/32",
        "fd00:ec2::/32",
        "fd20:ce::/32",
    )
)
"""Where clouds serve credentials: a wide net such as 0.0.0.0/0 does not open these, only one that lies inside them."""


@lru_cache(maxsize=64)
def networks(cidrs: tuple[str, ...]) -> tuple[Network, ...]:
    """The operator's CIDRs as networks.

    :raises Misconfigured: one of them is no network.
    """
    try:
        return tuple(ip_network(cidr, strict=False) for cidr in cidrs)
    except ValueError:
        raise Misconfigured(
            f"allow_networks must be CIDR networks such as 127.0.0.0/8, got {', '.join(map(repr, cidrs))}",
            code="invalid_network",
        ) from None


@lru_cache(maxsize=4096)
def refusal(address: str, allowed: tuple[str, ...] = ()) -> str | None:
    """The policy's code for an address we must not connect to, or None for one we may.

    `address` is text as a resolver gives it, a scope (`%eth0`) included; what is no address is `address_special`.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return "address_special"
    code = _classify(ip)
    if code is None or any(_opens(net, ip) for net in networks(allowed)):
        return None
    return code


def _classify(ip: Address) -> str | None:
    if isinstance(ip, IPv4Address):
        listed = next((code for net, code in _V4 if ip in net), None)
    elif ip.scope_id is not None:
        listed = "address_linklocal"
    else:
        listed = next((code for net, code in _V6 if ip in net), None)
        if listed is None and (int(ip) >> 32) & 0xFFFFFFFF in _ISATAP:
            listed = "address_embedded_v4"
        if listed is None and ip not in _GLOBAL_UNICAST:
            listed = "address_reserved"
    if listed is None and (not ip.is_global or ip.is_multicast):
        listed = "address_special"
    return listed


def _opens(net: Network, ip: Address) -> bool:
    if net.version != ip.version or ip not in net:
        return False
    guarded = [held for held in _METADATA if held.version == ip.version and ip in held]
    return all(net.network_address in held and net.prefixlen >= held.prefixlen for held in guarded)
