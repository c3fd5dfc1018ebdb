"""The robots.txt reader beside a slow one that follows the words of RFC 9309, under changes that must not matter."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

from runtime.crawl.robots import Robots
from runtime.urls import normalize
from tests.fuzz.sitemaps import body_of, cases
from tests.fuzz.target import Target, claim

URL: Final = "https://example.com/robots.txt"
AGENTS: Final = ("LlmsTxtBot", "foobot", "Googlebot/2.1", "a", "*")
PATHS: Final = ("/", "/a", "/a/b?c=d", "/page.html", "/%7Ejoe/%2f", "/caf%C3%A9", "/x$y*", "/robots.txt", "/private/*$")
TOKENS: Final = tuple(
    text.encode()
    for text in (
        "User-agent: *\n", "User-agent: LlmsTxtBot\n", "user-agent : foobot/1.0 (x)\n", "Disallow: /\n", "Allow: /a\n", "Disallow:\n",
        "Disallow: /*?*\n", "Allow: /*.html$\n", "Disallow: /a*b*c$\n", "Crawl-delay: 10\n", "Crawl-delay: 1e3\n",
        "Sitemap: https://example.com/s.xml\n", "Sitemap: /s.xml\n", "\n", "\r", "\r\n", "\n\n", "#", " # x", "*", "$", "**", "$$", "%2F",
        "%2f", "%7e", "%E3%82%A2", "ア", "%", "%zz", "/", "?", ":", "::", "\t", "\v", "\0", "User-agent", "Disallow", "Noindex: /x\n",
        "Clean-param: a /b\n", "Host: x\n", "dissallow: /x\n", "User agent: a\n", "Disallow /y\n", "\ufeff", "\u2028", "\x85",
    )
)  # fmt: skip

WS: Final = " \t\v\f"
_NAMES: Final = {
    "user-agent": "agent", "useragent": "agent", "user agent": "agent", "allow": "allow", "disallow": "disallow",
    "dissallow": "disallow", "dissalow": "disallow", "disalow": "disallow", "diasllow": "disallow", "disallaw": "disallow",
}  # fmt: skip


def seeds() -> list[bytes]:
    return [body_of(given) for given in cases("match", "crawl_delay", "robots_sitemaps")]


def read(data: bytes) -> object:
    robots = Robots.parse(data, URL)
    urls = [f"https://example.com{path}" for path in (*PATHS, *_written(data))]
    verdicts = [[robots.allowed(url, agent) for url in urls] for agent in AGENTS]
    for sitemap in robots.sitemaps:
        claim(normalize(sitemap) == sitemap, f"a sitemap is not normal: {sitemap!r}")
    claim(len(robots.sitemaps) <= 500, "more sitemaps than the cap: ")
    delays = [robots.crawl_delay(agent) for agent in AGENTS]
    claim(all(delay is None or 0 <= delay < float("inf") for delay in delays), f"a delay is no time: {delays}")
    answer = verdicts, delays, robots.sitemaps
    for change, changed in _harmless(data):
        other = Robots.parse(changed, URL)
        same = [[other.allowed(url, agent) for url in urls] for agent in AGENTS]
        claim(
            (same, [other.crawl_delay(agent) for agent in AGENTS], other.sitemaps) == answer, f"it matters {change}: "
        )
    if b"\0" not in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        groups = _groups(data)
        for agent, given in zip(AGENTS, verdicts, strict=True):
            wanted = [_allowed(groups, agent, url) for url in urls]
            claim(given == wanted, f"RFC 9309 says otherwise: {agent} {list(zip(urls, given, wanted, strict=True))}")
    return answer


def _written(data: bytes) -> list[str]:
    """Paths that the rules of the file are about, as URLs have them."""
    values = re.findall(rb"(?im)^\s*(?:dis)?allow\s*:[ \t]*([^\s#]{1,80})", data)[:6]
    texts = [value.decode("utf-8", "replace").replace("*", "x").removesuffix("$") for value in values]
    return [text for text in texts if text.startswith("/") and "?" not in text[:1]]


def _harmless(data: bytes) -> list[tuple[str, bytes]]:
    """Spellings of the same file."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or len(data) > 100_000:
        return []
    changes = [("whether a comment follows", data + b"\n# the end"), ("whether blank lines come first", b"\n\n" + data)]
    if b"\r" not in data:
        changes.append(("how lines end", data.replace(b"\n", b"\r\n")))
        changes.append(("whether lines are apart", data.replace(b"\n", b"\n \n")))
    if data.startswith(b"\xef\xbb\xbf"):
        changes.pop(1)
    else:
        changes.append(("whether there is a byte order mark", b"\xef\xbb\xbf" + data))
    return changes


Groups = dict[str, list[tuple[str, str]]]


def _groups(data: bytes) -> Groups:
    """Product token to its (kind, pattern) records, read line by line (RFC 9309 2.2)."""
    groups: Groups = {}
    agents: list[str] = []
    open_run = False
    for line in re.split(r"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")):
        text = line.partition("#")[0].strip(WS)
        name, colon, value = text.partition(":")
        kind = _NAMES.get(name.strip(WS).lower())
        if kind is None and not _is_other(name, colon):
            name, _, value = text.partition(" ")
            kind = _NAMES.get(name.lower())
        value = value.strip(" \t")
        if kind == "agent":
            agents = agents if open_run else []
            open_run = True
            token = (
                "*"
                if value == "*" or re.match(r"\*[^a-zA-Z0-9_*-]", value)
                else (re.match(r"[a-zA-Z0-9_-]*", value) or [""])[0].lower()
            )
            if token and token not in agents:
                agents.append(token)
                groups.setdefault(token, [])
        elif kind is not None:
            open_run = False
            for agent in agents:
                groups[agent].append((kind, value))
    return groups


def _is_other(name: str, colon: str) -> bool:
    known = ("sitemap", "sitemaps", "site-map", "crawl-delay", "crawl delay", "crawldelay")
    return bool(colon) and name.strip(WS).lower() in known


def _allowed(groups: Groups, agent: str, url: str) -> bool:
    """The longest match wins, allow wins a tie (2.2.2)."""
    if urlsplit(url).path == "/robots.txt" and "?" not in url:
        return True
    token = (re.match(r"[a-zA-Z0-9_-]*", agent) or [""])[0].lower()
    rules = groups.get(token, groups.get("*", []))
    path = re.sub(r"[*$]", _escaped, _octets(url.partition("https://example.com")[2].partition("#")[0])) or "/"
    best = (0, True)
    for kind, value in rules:
        if value[:1] in ("/", "*"):
            pattern = _octets(value)
            pattern = pattern[:-1].replace("$", "%24") + pattern[-1:]
            if _matches(pattern, path):
                best = max(best, (len(pattern), kind == "allow"))
    return best[1]


def _matches(pattern: str, path: str) -> bool:
    """Every place of the path where the pattern may stand is followed, as google/robotstxt does."""
    places = {0}
    for at, sign in enumerate(pattern):
        if sign == "$" and at == len(pattern) - 1:
            return len(path) in places
        if sign == "*":
            places = set(range(min(places), len(path) + 1))
        else:
            places = {place + 1 for place in places if path[place : place + 1] == sign}
        if not places:
            return False
    return True


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _octets(text: str) -> str:
    """Escapes of unreserved characters undone, other octets outside of printable ASCII escaped (2.2.2)."""

    def one(found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith("%"):
            byte = unquote_to_bytes(token)
            return byte.decode() if re.fullmatch(rb"[A-Za-z0-9._~()-]", byte) else token.upper()
        return "".join(f"%{octet:02X}" for octet in token.encode("utf-8", "surrogateescape"))

    return re.sub(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/:?@!&'()+,;=*$-]", one, text)


def _features(answer: object) -> list[str]:
    assert isinstance(answer, tuple)
    verdicts, delays, sitemaps = answer
    ours = "".join("-+"[allowed] for allowed in verdicts[0][: len(PATHS)])
    return [ours, f"{verdicts[0] == verdicts[1]} {[delay is None for delay in delays]} {len(sitemaps).bit_length()}"]


TARGETS: Final = (Target("robots", seeds, TOKENS, read, _features),)
