"""What is fuzzed: a name, inputs to begin with, words of its grammar, and a reading with its oracles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """`read` gives the answer to an input, a value whose `repr` is the same in every process.

    It raises AssertionError where an oracle finds the answer wrong; any other exception is a finding too.
    `features` names what is special about an answer beyond the code that ran, so that such inputs are kept.
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    tokens: Sequence[bytes]
    read: Callable[[bytes], object]
    features: Callable[[object], Sequence[str]] = lambda _: ()
    seconds: float = 0.5
    """CPU time that a small input may take, on a slow machine."""


def claim(right: object, message: str) -> None:
    """An oracle's word, also under `python -O`."""
    if not right:
        raise AssertionError(message)
