"""The site that everybody crawls: documentation as generators write it, the same bytes for the same arguments.

A page has about 32 KB and 95 links: a menu of the sections, the neighbours, cross-references with and without
fragments, a few links that leave the site. Sitemaps are an index with four children, every page dated.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from functools import cached_property

SECTIONS = 20
SITEMAPS = 4
TARGET_BYTES = 32_000
WORDS = """
able access account action adapter after agent alert allow another answer apply archive array asset attach audit
backup balance batch before begin bind block branch bucket buffer build bundle cache call cancel capture carry
certificate change channel check choose client cluster collect column command commit compare complete compress compute
config connect console consume container content context control convert copy count create credential cursor daemon
data deadline debug decide default define delay delete deliver deploy describe detect device digest disable dispatch
document domain download drain driver edge emit enable encode endpoint engine enqueue entry error event evict example
execute expire export extend extract fail fetch field file filter find flag flush folder follow format forward frame
function gateway generate grant group guard handle hash header health host identity ignore import include index ingest
inherit insert inspect install instance integer interface interval invoke isolate item job join journal key label
latency launch layer lease length level library limit link list listen load local lock log lookup manage map mask
match measure memory merge message meter method metric migrate mirror mode model module monitor mount move name
namespace network node notify number object observe offset open operate option order origin output owner package page
parse partition password path pattern pause payload peer permit persist pipeline platform plugin point policy poll
pool port prefix prepare process profile project protect protocol provide proxy publish pull push query queue quota
range rate read receive record recover redirect reduce refresh region register release
""".split()  # noqa: SIM905 - a text reads better than three hundred quotes


@dataclass(frozen=True)
class DocSite:
    """`edits` maps a page's number to how often it was edited; `origin` is where the site is served."""

    origin: str
    pages: int = 1_000
    edits: dict[int, int] = field(default_factory=dict)

    def path(self, number: int) -> str:
        """The entry page is number 0; the others are spread over the sections."""
        return "/" if number == 0 else f"/section-{number % SECTIONS:02}/page-{number:04}/"

    @cached_property
    def paths(self) -> dict[str, int]:
        return {self.path(number): number for number in range(self.pages)}

    def title(self, number: int) -> str:
        words = random.Random(number).sample(WORDS, 3)
        return f"{' '.join(words).capitalize()} {number} v{self.edits.get(number, 0)}"

    def description(self, number: int) -> str:
        words = random.Random(number + 10**6).sample(WORDS, 14)
        return f"How page {number} helps you to {' '.join(words)}."

    def lastmod(self, number: int) -> str:
        edits = self.edits.get(number, 0)
        return (
            f"2026-0{1 + number % 9}-{1 + number % 27:02}T08:00:00Z" if not edits else f"2026-11-{edits:02}T09:30:00Z"
        )

    def page(self, number: int) -> bytes:
        """The HTML of one page."""
        rng = random.Random(number + 2 * 10**6)
        section = number % SECTIONS
        menu = "".join(
            f'<li class="toc-item"><a class="nav-link" href="{self.path(at or SECTIONS)}">Section {at}</a></li>'
            for at in range(SECTIONS)
        )
        siblings = [n for n in range(number - 8 * SECTIONS, number + 8 * SECTIONS, SECTIONS) if 0 < n < self.pages]
        menu += "".join(f'<li><a href="{self.path(n)}#top">{self.title(n)}</a></li>' for n in siblings[:16])
        others = [rng.randrange(self.pages) for _ in range(40)]
        parts: list[str] = []
        size = 0
        while size < TARGET_BYTES - 7_500 or others:
            part = self._block(rng, len(parts), others)
            parts.append(part)
            size += len(part)
        outside = "".join(f'<a href="https://example.org/{word}">{word}</a> ' for word in rng.sample(WORDS, 4))
        html = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{self.title(number)}</title>\n'
            f'<meta name="description" content="{self.description(number)}">'
            f'<link rel="canonical" href="{self.origin}{self.path(number)}"><link rel="stylesheet" href="/style.css">'
            f'<script src="/app.js" defer></script></head>\n<body><nav><ul>{menu}</ul></nav>\n<main>'
            f"<h1>{self.title(number)}</h1>{''.join(parts)}</main><footer>{outside}<p>Section {section}</p></footer>"
            f'<a href="mailto:docs@example.org">Mail</a></body></html>'
        )
        return html.encode()

    def _block(self, rng: random.Random, at: int, others: list[int]) -> str:
        """A heading, a paragraph, a list and highlighted code, marked up as densely as Sphinx or Docusaurus do it."""
        links = []
        for _ in range(min(2, len(others))):
            target = others.pop()
            fragment = rng.choice(("", "", "#usage"))
            links.append(f'<a class="reference internal" href="{self.path(target)}{fragment}">{self.title(target)}</a>')
        words = iter(rng.choices(WORDS, k=80))
        text = " ".join(next(words) for _ in range(24)).capitalize()
        items = "".join(f"<li><code>{next(words)}</code> {next(words)} {next(words)}</li>" for _ in range(4))
        code = " ".join(f'<span class="n">{next(words)}</span><span class="o">=</span>' for _ in range(9))
        name = next(words)
        return (
            f'<section id="s{at}"><h2>{name.capitalize()}<a class="headerlink" href="#s{at}">¶</a></h2>\n'
            f"<p>{text} <em>{next(words)}</em>, see {' and '.join(links)}.</p><ul>{items}</ul>"
            f'<div class="highlight"><pre>{code}</pre></div></section>\n'
        )

    def sitemaps(self) -> dict[str, bytes]:
        """The index and its children."""
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        xmlns = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        found: dict[str, bytes] = {}
        index = []
        for part in range(SITEMAPS):
            numbers = [number for number in range(self.pages) if number % SITEMAPS == part]
            rows = "".join(
                f"<url><loc>{self.origin}{self.path(n)}</loc><lastmod>{self.lastmod(n)}</lastmod></url>\n"
                for n in numbers
            )
            path = f"/sitemap-{part}.xml"
            found[path] = f"{head}<urlset {xmlns}>\n{rows}</urlset>\n".encode()
            newest = max((self.lastmod(n) for n in numbers), default="2026-01-01T00:00:00Z")
            index.append(f"<sitemap><loc>{self.origin}{path}</loc><lastmod>{newest}</lastmod></sitemap>\n")
        found["/sitemap.xml"] = f"{head}<sitemapindex {xmlns}>\n{''.join(index)}</sitemapindex>\n".encode()
        return found

    def robots(self) -> bytes:
        rules = "".join(f"Disallow: /private-{at}/\n" for at in range(5))
        return f"User-agent: *\n{rules}\nSitemap: {self.origin}/sitemap.xml\n".encode()

    def answers(self) -> str:
        """A fingerprint of what a crawler has to find: every page's path, title and description."""
        return fingerprint([(self.path(n), self.title(n), self.description(n)) for n in range(self.pages)])


def fingerprint(found: list[tuple[str, str, str]]) -> str:
    digest = hashlib.sha256()
    for at, row in enumerate(sorted(found)):
        digest.update(("\n" * (at > 0) + "\t".join(row)).encode())
    return digest.hexdigest()[:16]
