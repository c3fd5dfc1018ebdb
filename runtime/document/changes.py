"""What is different between two documents, page by page, for people and for programs."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from runtime.document.excerpt import excerpt
from runtime.document.model import Document, Link, Section

Placed = dict[str, tuple[Section, Link]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A page that came or went."""

    url: str
    title: str
    section: str


@dataclass(frozen=True, slots=True)
class Moved:
    """A page with a new URL, or in another section."""

    url: str
    title: str
    section: str
    old_url: str
    old_section: str


@dataclass(frozen=True, slots=True)
class Reworded:
    """A page whose title, or description, reads differently."""

    url: str
    new: str
    old: str


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """All differences, each list in the order of the newer document (of the older one for what was removed).

    `site` names what changed about the site itself: `title`, `summary` or `details` as `url`.
    """

    added: tuple[Entry, ...] = ()
    removed: tuple[Entry, ...] = ()
    moved: tuple[Moved, ...] = ()
    retitled: tuple[Reworded, ...] = ()
    redescribed: tuple[Reworded, ...] = ()
    site: tuple[Reworded, ...] = ()

    def __bool__(self) -> bool:
        return any((self.added, self.removed, self.moved, self.retitled, self.redescribed, self.site))

    def as_dict(self) -> dict[str, Any]:
        """JSON: lists of objects by kind, and the sentence."""
        return {**asdict(self), "summary": self.summary}

    @property
    def summary(self) -> str:
        """One sentence, in which a change that is the only one of its kind is named."""
        parts = [
            _part("added", [entry.title for entry in self.added]),
            _part("removed", [entry.title for entry in self.removed]),
            _part("moved", [entry.title for entry in self.moved]),
            _part("retitled", [f"{entry.old} → {entry.new}" for entry in self.retitled]),
            _part("redescribed", [entry.url for entry in self.redescribed]),
        ]
        parts += [f"the site's {entry.url} changed" for entry in self.site]
        said = [part for part in parts if part]
        return "; ".join(said) if said else "nothing changed"


def _part(kind: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    if len(names) == 1:
        return f"1 page {kind} ({excerpt(names[0], 120)})"
    return f"{len(names)} pages {kind}"


def compare_documents(old: Document | None, new: Document) -> ChangeRecord:
    """What `new` changes about `old`; without an old document every page is new.

    A page that left and one that came with the same title, where no other page has that title, is one that moved.
    """
    before: Placed = old.placed() if old else {}
    after = new.placed()
    gone = [url for url in before if url not in after]
    came = [url for url in after if url not in before]
    pairs = _same_titles(before, gone, after, came)
    kept = [(url, url) for url in after if url in before]
    order = {url: at for at, url in enumerate(after)}
    both = sorted([*kept, *pairs.items()], key=lambda pair: order[pair[0]])
    replaced = set(pairs.values())
    return ChangeRecord(
        added=tuple(_entry(after[url]) for url in came if url not in pairs),
        removed=tuple(_entry(before[url]) for url in gone if url not in replaced),
        moved=tuple(_moved(after[url], before[was]) for url, was in both if _elsewhere(after[url], before[was])),
        retitled=tuple(
            Reworded(url, after[url][1].title, before[was][1].title)
            for url, was in both
            if after[url][1].title != before[was][1].title
        ),
        redescribed=tuple(
            Reworded(url, after[url][1].description, before[was][1].description)
            for url, was in both
            if after[url][1].description != before[was][1].description
        ),
        site=tuple(_site(old, new)) if old else (),
    )


def unified_diff(old_text: str, new_text: str, *, old_name: str = "published", new_name: str = "new") -> str:
    """The differences of two files by lines, as `diff -u` writes them; empty for equal texts."""
    lines = difflib.unified_diff(
        old_text.splitlines(keepends=True), new_text.splitlines(keepends=True), old_name, new_name
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _same_titles(before: Placed, gone: Iterable[str], after: Placed, came: Iterable[str]) -> dict[str, str]:
    """New URL to old URL, for titles that are unique on both sides."""
    old_by_title, new_by_title = defaultdict(list), defaultdict(list)
    for url in gone:
        old_by_title[before[url][1].title].append(url)
    for url in came:
        new_by_title[after[url][1].title].append(url)
    uses = Counter(link.title for _, link in after.values())
    return {
        new[0]: old_by_title[title][0]
        for title, new in new_by_title.items()
        if len(new) == 1 and len(old_by_title.get(title, ())) == 1 and uses[title] == 1
    }


def _entry(placed: tuple[Section, Link]) -> Entry:
    section, link = placed
    return Entry(link.url, link.title, section.name)


def _moved(new: tuple[Section, Link], old: tuple[Section, Link]) -> Moved:
    return Moved(new[1].url, new[1].title, new[0].name, old[1].url, old[0].name)


def _elsewhere(new: tuple[Section, Link], old: tuple[Section, Link]) -> bool:
    return new[1].url != old[1].url or new[0].name != old[0].name


def _site(old: Document, new: Document) -> Iterable[Reworded]:
    for name in ("title", "summary", "details"):
        if getattr(old, name) != getattr(new, name):
            yield Reworded(name, getattr(new, name), getattr(old, name))
