"""A bar chart as SVG, on its own: nothing to install, and a diff shows what moved."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from benchmarks.table import figure

WIDTH, ROW, LEFT = 760, 26, 220


def bars(title: str, rows: Sequence[tuple[str, float, bool]], unit: str) -> str:
    """Horizontal bars, longest first; `True` marks ours."""
    longest = max(value for _, value, _ in rows)
    parts = [f'<text x="10" y="22" font-size="15" font-weight="bold">{escape(title)}</text>']
    for at, (name, value, own) in enumerate(sorted(rows, key=lambda row: -row[1])):
        y = 40 + at * ROW
        width = (WIDTH - LEFT - 110) * value / longest
        colour = "#1f6feb" if own else "#9aa4af"
        parts.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{ROW - 8}" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + width + 8:.0f}" y="{y + 14}">{figure(value)} {escape(unit)}</text>')
    height = 50 + len(rows) * ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{WIDTH}" height="{height}" fill="white"/>{"".join(parts)}</svg>\n'
    )
