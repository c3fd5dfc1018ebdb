"""What one run remembers for the next: one compressed object a site, private, rewritten only when it changed.

It is a cache of the site, never the truth about what is published (that is the row and the public object): a run that
finds none, or one it cannot read, starts from a full crawl.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from runtime.document.guard import HeldMemory
from runtime.errors import CorruptState
from runtime.reading import DocumentState, Inventory, Left, LeftOut, Page, PageMemory, PageReading, Validators
from runtime.sitemap.lastmod import LastmodTrust

VERSION = 2
MAX_LEFT_OUT = 5_000
"""Reasons that are kept for `why`; a trap can produce any number of URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteState:
    """The memory of a site.

    `memory` is every page as it was last read; `resumed_since` and `deferrals` belong to a crawl that ran out of
    time and goes on. `pages`, `misses` and `left_out` are those of the last crawl; `site_hash` is the document that
    crawl gave, published or not. `trust` and `held` are the memories of the lastmod and guard rooms, as JSON objects.
    What a person decided (a rollback, a confirmation) is in the row, because this may be lost.
    """

    inventory: Inventory | None = None
    robots: DocumentState | None = None
    trust: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, PageMemory] = field(default_factory=dict)
    validators_lie: bool = False
    resumed_since: str | None = None
    deferrals: int = 0
    pages: tuple[Page, ...] = ()
    home: str | None = None
    misses: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    site_hash: str | None = None
    held: Mapping[str, Any] | None = None
    last_full_crawl_at: datetime | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    unlocks: Mapping[str, int] = field(default_factory=dict)

    @property
    def twins(self) -> dict[str, str]:
        return {page.url: page.twin for page in self.pages if page.twin is not None}


def encode(state: SiteState) -> bytes:
    """The stored form: gzip over sorted JSON without a time stamp, so that equal states are equal bytes."""
    # What grows with the site is written field by field: `asdict` copies deep, at ten times the cost.
    inventory = None if state.inventory is None else replace(state.inventory, entries={})
    value = asdict(replace(state, memory={}, pages=(), left_out=(), inventory=inventory))
    value["memory"] = _packed(state.memory)
    value["pages"] = [_fields(page) for page in state.pages]
    value["left_out"] = [_fields(item) for item in state.left_out[:MAX_LEFT_OUT]]
    if state.inventory is not None:
        value["inventory"]["entries"] = dict(state.inventory.entries)
    value["version"] = VERSION
    if state.last_full_crawl_at is not None:
        value["last_full_crawl_at"] = state.last_full_crawl_at.isoformat()
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "surrogatepass"), compresslevel=6, mtime=0)


def decode(stored: bytes | None) -> SiteState:
    """Read a state back; None gives an empty one.

    :raises CorruptState: the object is not what `encode` wrote.
    """
    if stored is None:
        return SiteState()
    try:
        value = json.loads(gzip.decompress(stored).decode("utf-8", "surrogatepass"))
        if value.pop("version") != VERSION:
            raise CorruptState("the state of the site was written by another version")
        return SiteState(
            inventory=_inventory(value["inventory"]),
            robots=None if value["robots"] is None else _document(value["robots"]),
            trust=asdict(LastmodTrust(**value["trust"])),
            memory=_unpacked(value["memory"]),
            validators_lie=value["validators_lie"],
            resumed_since=value["resumed_since"],
            deferrals=value["deferrals"],
            pages=tuple(_page(page) for page in value["pages"]),
            home=value["home"],
            misses=value["misses"],
            left_out=tuple(LeftOut(item["url"], Left(item["reason"]), item["detail"]) for item in value["left_out"]),
            site_hash=value["site_hash"],
            held=None if value["held"] is None else asdict(HeldMemory(**value["held"])),
            last_full_crawl_at=_time(value["last_full_crawl_at"]),
            options=value["options"],
            descriptions=value.get("descriptions", {}),
            unlocks=value.get("unlocks", {}),
        )
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptState(f"the state of the site cannot be read ({type(error).__name__})") from error


def _fields(item: Page | LeftOut) -> dict[str, Any]:
    """The fields of a value that holds nothing but texts and tuples of texts."""
    return {name: getattr(item, name) for name in item.__slots__}


def _packed(memory: Mapping[str, PageMemory]) -> dict[str, Any]:
    """The pages with every URL written once: a site's menu is on all of its pages.

    Only what differs from an empty reading is written.
    """
    places: dict[str, int] = {}
    pages = []
    for url in sorted(memory):
        page = memory[url]
        reading = {
            item.name: value
            for item in fields(PageReading)
            if (value := getattr(page.reading, item.name)) != item.default and item.name != "links"
        }
        links = [places.setdefault(link, len(places)) for link in page.reading.links]
        final = "" if page.final_url == url else page.final_url
        validators = [page.validators.etag, page.validators.last_modified]
        pages.append([url, final, validators, page.lastmod, page.sha256, page.read_at, reading, links])
    return {"urls": list(places), "pages": pages}


def _unpacked(value: Mapping[str, Any]) -> dict[str, PageMemory]:
    urls = value["urls"]
    return {
        url: PageMemory(
            final_url=final or url,
            validators=Validators(*validators),
            lastmod=lastmod,
            sha256=sha256,
            reading=PageReading(
                links=tuple(urls[place] for place in links), **{name: _frozen(item) for name, item in reading.items()}
            ),
            read_at=read_at,
        )
        for url, final, validators, lastmod, sha256, read_at, reading, links in value["pages"]
    }


def _inventory(value: Mapping[str, Any] | None) -> Inventory | None:
    if value is None:
        return None
    return Inventory(
        entries=value["entries"],
        complete=value["complete"],
        documents=tuple(_document(item) for item in value["documents"]),
        problems=tuple(value["problems"]),
    )


def _document(value: Mapping[str, Any]) -> DocumentState:
    fields = dict(value)
    fields["validators"] = Validators(**fields["validators"])
    return DocumentState(**{name: _frozen(item) for name, item in fields.items()})


def _page(value: Mapping[str, Any]) -> Page:
    return Page(**{name: _frozen(item) for name, item in value.items()})


def _frozen(value: Any) -> Any:
    """JSON has lists where the values have tuples, at any depth."""
    return tuple([_frozen(item) for item in value]) if isinstance(value, list) else value


def _time(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)
