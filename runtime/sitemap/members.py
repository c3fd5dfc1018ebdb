"""Which document named which URL, kept small: runs of positions in the sorted URLs of the inventory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.reading import DocumentState, Inventory


def runs(positions: Iterable[int]) -> tuple[int, ...]:
    """Sorted distinct positions as (first, count, first, count, …)."""
    out: list[int] = []
    for position in positions:
        if out and position == out[-2] + out[-1]:
            out[-1] += 1
        else:
            out += (position, 1)
    return tuple(out)


def urls_of(document: DocumentState, ordered: Sequence[str]) -> list[str]:
    """The URLs of a document, in order, from the sorted URLs of the inventory it was stored with."""
    pairs = zip(document.members[::2], document.members[1::2], strict=False)
    return [url for first, count in pairs for url in ordered[first : first + count]]


def named_only_by(inventory: Inventory, kinds: frozenset[str]) -> frozenset[str]:
    """The URLs that only documents of these kinds name."""
    if not any(document.kind in kinds for document in inventory.documents):
        return frozenset()
    ordered = sorted(inventory.entries)
    inside = {url for doc in inventory.documents if doc.kind in kinds for url in urls_of(doc, ordered)}
    others = {url for doc in inventory.documents if doc.kind not in kinds for url in urls_of(doc, ordered)}
    return frozenset(inside - others)
