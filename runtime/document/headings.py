"""What a section is called: its heading, and its name in URLs."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from runtime.document.excerpt import excerpt
from runtime.document.sections import MAIN_KEY
from runtime.document.text import folded, plain

MAIN_NAME = "Main"
MAX_NAME = 60

_ACRONYMS = frozenset((
    "ai", "api", "aws", "cdk", "cdn", "ci", "cli", "cpu", "css", "csv", "dns", "faq", "gpu", "grpc", "html", "http",
    "https", "ide", "id", "iot", "ip", "json", "jwt", "kb", "llm", "ml", "os", "pdf", "php", "qa", "rest", "rss",
    "saml", "sdk", "seo", "sla", "sql", "ssh", "sso", "tls", "ui", "url", "ux", "vm", "vpn", "xml", "yaml",
))  # fmt: skip
_SPELLED = {
    "graphql": "GraphQL",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "github": "GitHub",
    "faqs": "FAQs",
    "apis": "APIs",
    "sdks": "SDKs",
    "llms": "LLMs",
    "oauth": "OAuth",
    "ios": "iOS",
    "howto": "How-to",
    "howtos": "How-tos",
    "whatsnew": "What's New",
    "postgresql": "PostgreSQL",
    "mysql": "MySQL",
    "nodejs": "Node.js",
}


def names_of(keys: Iterable[str]) -> dict[str, str]:
    """A heading for each section key. Two keys never share one, not even in another case."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key in sorted(keys):
        name = plain_name = name_of(key)
        number = 1
        while name.casefold() in taken:
            number += 1
            name = f"{plain_name} ({number})"
        taken.add(name.casefold())
        names[key] = name
    return names


def name_of(key: str) -> str:
    """A section key as a heading: `rest_api` is "REST API". "Optional" is taken, so its pages are "Optional pages"."""
    if key == MAIN_KEY:
        return MAIN_NAME
    text = excerpt(plain(re.sub(r"[\s/_-]+", " ", key)).lstrip("# "), MAX_NAME)
    if not folded(text):
        return "Pages"
    name = " ".join(_capitalised(word) for word in text.split())
    return "Optional pages" if name.casefold() == "optional" else name


def _capitalised(word: str) -> str:
    lower = word.lower()
    if lower in _SPELLED:
        return _SPELLED[lower]
    if lower in _ACRONYMS:
        return word.upper()
    return word[:1].upper() + word[1:]


def slugs_of(keys: Iterable[str]) -> dict[str, str]:
    """A name in URLs for each key: lower-case ASCII, single hyphens, unique. A script without ASCII gets a digest."""
    slugs: dict[str, str] = {}
    for key in sorted(keys):
        ascii_only = unicodedata.normalize("NFKD", key).encode("ascii", "ignore").decode()
        slug = re.sub(r"[^a-z0-9]+", "-", ascii_only.casefold()).strip("-")[:40].strip("-")
        if not slug or slug in slugs.values():
            digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:8]
            slug = f"{slug}-{digest}" if slug else f"section-{digest}"
        slugs[key] = slug
    return slugs
