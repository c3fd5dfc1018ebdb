"""The documents of a site made one inventory: only its own pages, each once, with what the documents remember."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from runtime import urls
from runtime.reading import DocumentState, Inventory, stamp
from runtime.sitemap.dates import parse_lastmod
from runtime.sitemap.elements import MAX_TEXT
from runtime.sitemap.fetch import Outcome
from runtime.sitemap.lastmod import CLOCK_SKEW
from runtime.sitemap.members import runs, urls_of

MAX_ENTRIES: Final = 100_000
"""Entries of one site kept by name; the documents after that are remembered by their bytes alone."""

MAX_CHILDREN: Final = 2_000_000
"""Characters of all child addresses of a site; far more than the children that are asked for can have."""

MAX_PROBLEMS: Final = 50

Entry = tuple[str, str | None]


@dataclass(slots=True)
class Merger:
    """Collects outcomes in document order. `previous` gives the entries of documents that did not change."""

    base_url: str
    previous: Inventory
    now: datetime
    complete: bool = True
    problems: dict[str, None] = field(default_factory=dict)
    fresh: int = 0
    carried: set[str] = field(default_factory=set)
    _entries: dict[str, str | None] = field(default_factory=dict)
    _documents: list[tuple[DocumentState, list[str]]] = field(default_factory=list)
    _text: int = 0
    _children: int = 0
    _ordered: list[str] | None = None
    _hosts: dict[str, bool] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> DocumentState:
        """Take in a document that was read or found unchanged; what is remembered of it, so far."""
        state, document = outcome.state, outcome.document
        assert state is not None, "an outcome without a document has nothing to merge"
        self._children += sum(len(url) for url, _ in state.children)
        if self._children > MAX_CHILDREN:
            self.note(f"{state.url}: too many sitemaps in all")
            state = replace(state, children=(), complete=False)
        for problem in document.problems if document is not None else ():
            self.note(f"{outcome.url}: {problem}")
        self.complete = self.complete and state.complete
        if document is None:
            self._keep(state, self._entries_of(state))
            return state
        self.fresh += 1
        own = [entry for entry in document.entries if self._is_own(entry[0])]
        self._keep(_dated(state, {lastmod for _, lastmod in own}, self.now), own)
        return state

    def carry(self, state: DocumentState) -> None:
        """Keep a document of the last reading that could not be read now: nothing in it may count as removed, and the
        lastmods in it prove nothing any more.
        """
        entries = self._entries_of(state)
        self.carried.update(url for url, _ in entries)
        self._keep(state, entries)

    def note(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems[problem[:500]] = None

    def lost(self, problem: str) -> None:
        """Something of the inventory could not be read."""
        self.complete = False
        self.note(problem)

    def inventory(self) -> Inventory:
        """The whole. When every document was reused, the entries are the stored ones, untouched."""
        documents = self._documents
        stored = {state.url for state in self.previous.documents}
        if not self.fresh and {state.url for state, _ in documents} == stored:
            states = tuple(state for state, _ in documents)
            return Inventory(self.previous.entries, self.complete, states, tuple(self.problems))
        place = {url: number for number, url in enumerate(sorted(self._entries))}
        states = tuple(replace(state, members=runs(sorted({place[u] for u in own}))) for state, own in documents)
        return Inventory(self._entries, self.complete, states, tuple(self.problems))

    def _keep(self, state: DocumentState, entries: Iterable[Entry]) -> None:
        entries = list(entries)
        text = sum(len(url) for url, _ in entries)
        many = len(self._entries) + len(entries) > MAX_ENTRIES or self._text + text > MAX_TEXT
        if not state.listed or many:
            if entries:
                self.note(f"{state.url}: too many pages in all to be kept by name, kept by its bytes alone")
            self._documents.append((replace(state, listed=False), []))
            return
        self._text += text
        for url, lastmod in entries:
            known = self._entries.get(url)
            self._entries[url] = lastmod if known is None else _later(known, lastmod)
        self._documents.append((state, [url for url, _ in entries]))

    def _entries_of(self, state: DocumentState) -> list[Entry]:
        if not state.members:
            return []
        if self._ordered is None:
            self._ordered = sorted(self.previous.entries)
        return [(url, self.previous.entries[url]) for url in urls_of(state, self._ordered)]

    def _is_own(self, url: str) -> bool:
        """Foreign pages are out of scope, so their dates must not decide whether this site changed."""
        origin = url[: url.index("/", 8)]
        own = self._hosts.get(origin)
        if own is None:
            own = self._hosts[origin] = urls.same_site(self.base_url, origin)
        return own


def _later(one: str, other: str | None) -> str:
    """Of two lastmods for one page, the later; the first when they cannot be compared."""
    if other is None or one == other:
        return one
    old, new = parse_lastmod(one), parse_lastmod(other)
    if old is None or new is None:
        return one if new is None else other
    return other if new.end > old.end else one


def _dated(state: DocumentState, lastmods: set[str | None], now: datetime) -> DocumentState:
    """What the dates of a document's entries say of it; those in the future say nothing."""
    dates = [parse_lastmod(lastmod) for lastmod in lastmods]
    past = [date for date in dates if date is not None and date.start <= now + CLOCK_SKEW]
    open_until = max((date.over for date in past if date.end > date.start), default=None)
    newest = max((date.start for date in past), default=None)
    return replace(
        state,
        dated=None not in dates,
        newest=stamp(newest) if newest else "",
        open_until=stamp(open_until) if open_until else "",
    )
