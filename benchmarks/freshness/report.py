"""The comparison as a table in Markdown and as plots in SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.freshness.compare import BUDGETED, PRICED, Comparison, Line

COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#9c755f", "#e15759", "#333333")
SHOWN = ("fixed 7 days", PRICED, "oracle")
WIDTH, HEIGHT, LEFT, BOTTOM = 720, 400, 60, 50


def table(comparison: Comparison) -> str:
    """One workload: each policy as it is, at the budget, and who gets what of it."""
    lines = [
        f"{comparison.sites:,} sites, {comparison.days:.0f} days. GB read is at 1 MB a crawl and 5 kB a look.",
        "",
        "| policy | fresh | mean age | crawls a day | looks a day | GB read | busiest 24 h |",
        "|---|---:|---:|---:|---:|---:|---:|",
        *(_row(line) for line in comparison.as_they_are),
        f"| **at the crawls of fixed 7 days ({comparison.budget:,.0f} a day)** | | | | | | |",
        *(_row(line) for line in comparison.at_the_budget),
        "",
        _reached(comparison),
        "",
        "| as fresh as | `learned` needs of its crawls | the oracle |",
        "|---|---:|---:|",
        *(f"| {name} | {learned:.0%} | {oracle:.0%} |" for name, (learned, oracle) in comparison.equal.items()),
        "",
        *kinds(comparison),
    ]
    return "\n".join(lines)


def kinds(comparison: Comparison) -> list[str]:
    """At the budget: freshness, and crawls a site and month that the schedule chose, by kind of site."""
    lines = {line.name: line for line in comparison.at_the_budget if line.name in SHOWN}
    names = sorted(lines["oracle"].result.by_kind)
    if len(names) == 1:
        return []
    per_site = comparison.days * 1_440
    rows = [
        "| at the budget | sites |" + "".join(f" {name} | crawls a month |" for name in lines),
        "|---|---:|" + "---:|" * 2 * len(lines),
    ]
    for name in names:
        sites = lines["oracle"].result.by_kind[name][1] / per_site
        row = f"| {name} | {sites:,.0f} |"
        for line in lines.values():
            fresh, minutes, crawls = line.result.by_kind[name]
            row += f" {fresh / minutes:.1%} | {crawls / sites / comparison.days * 30:.2f} |"
        rows.append(row)
    return rows


def _row(line: Line) -> str:
    result = line.result
    limit = f"{result.busiest:,}" + (" (the limit)" if line.name == BUDGETED else "")
    gigabytes = result.bytes_read / 1e9
    return (
        f"| {line.name} | {result.freshness:.1%} | {result.mean_age_hours:.1f} h | {line.crawls_a_day:,.0f} "
        f"| {result.looks / line.days:,.0f} | {gigabytes:,.0f} | {limit} |"
    )


def _reached(comparison: Comparison) -> str:
    share, held = (comparison.share_of_oracle(name) for name in (PRICED, BUDGETED))
    return (
        f"At the same crawls `learned` reaches {share:.1%} of the oracle's freshness{_late(comparison)}; {held:.1%} if "
        "no 24 hours may see more crawls than the average day."
    )


def _late(comparison: Comparison) -> str:
    """What it reaches once it knows the sites: the months after the first."""
    months = {line.name: line.result.months[1:] for line in comparison.at_the_budget if line.name in (PRICED, "oracle")}
    if not months[PRICED] or not months["oracle"]:
        return ""
    shares = [
        sum(part[0] for part in months[name]) / sum(part[1] for part in months[name]) for name in (PRICED, "oracle")
    ]
    return f" ({shares[0] / shares[1]:.1%} after the first month)"


def plot(title: str, across: str, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Lines over a linear grid; freshness, from 0 to 1, goes up."""
    right = max((x for points in series.values() for x, _ in points), default=1.0) or 1.0
    top = max((y for points in series.values() for _, y in points), default=1.0)
    low = min((y for points in series.values() for _, y in points), default=0.0)
    low, top = max(0.0, low - 0.05), min(1.0, top + 0.03)

    inner, floor = WIDTH - LEFT - 230, HEIGHT - BOTTOM

    def at(x: float, y: float) -> str:
        return f"{LEFT + x / right * inner:.1f},{floor - (y - low) / (top - low) * (floor - 40):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        '<g font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{title}</text>',
    ]
    for step in range(6):
        y = low + (top - low) * step / 5
        x1, y1 = at(0, y).split(",")
        x2, _ = at(right, y).split(",")
        parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y1}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{float(y1) + 4:.1f}" text-anchor="end">{y:.0%}</text>')
        x, base = at(right * step / 5, low).split(",")
        parts.append(f'<text x="{x}" y="{float(base) + 18:.1f}" text-anchor="middle">{right * step / 5:.2g}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 8}">{across}</text>')
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = ' stroke-dasharray="6 4"' if name == "oracle" else ""
        path = " ".join(at(x, y) for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        y = 50 + 20 * number
        parts.append(
            f'<line x1="{WIDTH - 222}" y1="{y}" x2="{WIDTH - 200}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>'
        )
        parts.append(f'<text x="{WIDTH - 194}" y="{y + 4}" font-size="11">{name}</text>')
    return "\n".join([*parts, "</g></svg>", ""])


def months(comparison: Comparison) -> dict[str, list[tuple[float, float]]]:
    """Freshness month by month at the budget: how fast the learned policy learns."""
    return {
        line.name: [(number + 1.0, fresh / total) for number, (fresh, total) in enumerate(line.result.months) if total]
        for line in comparison.at_the_budget
        if line.name in SHOWN
    }
