"""What is promised and what was measured, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Line:
    """One promise: `measured` has to be at least, or at most, `target`; `detail` has the figures behind it."""

    what: str
    kind: Literal["at least", "at most"]
    target: float
    measured: float | None
    unit: str = ""
    detail: str = ""

    @property
    def kept(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured >= self.target if self.kind == "at least" else self.measured <= self.target

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "NO", None: "not measured"}[self.kept]


@dataclass
class Table:
    """The lines of one run, in the order in which they were measured."""

    lines: list[Line] = field(default_factory=list)

    def at_least(self, what: str, target: float, measured: float | None, unit: str = "", detail: str = "") -> None:
        self.lines.append(Line(what, "at least", target, measured, unit, detail))

    def at_most(self, what: str, target: float, measured: float | None, unit: str = "", detail: str = "") -> None:
        self.lines.append(Line(what, "at most", target, measured, unit, detail))

    def markdown(self) -> str:
        rows = ["| what | target | measured | kept | figures |", "|---|---:|---:|---|---|"]
        for line in self.lines:
            sign = "≥" if line.kind == "at least" else "≤"
            found = "" if line.measured is None else f"{figure(line.measured)} {line.unit}".strip()
            target = f"{sign} {figure(line.target)} {line.unit}".strip()
            rows.append(f"| {line.what} | {target} | {found} | {line.verdict} | {line.detail} |")
        return "\n".join(rows)


def figure(value: float) -> str:
    """Three digits that count."""
    if value and abs(value) < 0.001:
        return f"{value:.7f}".rstrip("0")
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
