"""The report: one self-contained HTML page about every site. Pure; plots are inline SVG, nothing is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from html import escape

from runtime.models import Outcome, Run, Site, SiteStatus

DAYS = 30
COLORS = {
    Outcome.UPDATED: "#2563eb",
    Outcome.UNCHANGED_CONTENT: "#93c5fd",
    Outcome.UNCHANGED_SITEMAP: "#cbd5e1",
    Outcome.HELD: "#f59e0b",
    Outcome.FAILED: "#dc2626",
    Outcome.DEFERRED: "#a78bfa",
}
NAMES = {
    Outcome.UPDATED: "updated",
    Outcome.UNCHANGED_CONTENT: "unchanged (content)",
    Outcome.UNCHANGED_SITEMAP: "unchanged (sitemap)",
    Outcome.HELD: "held",
    Outcome.FAILED: "failed",
    Outcome.DEFERRED: "deferred",
}
STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#0f172a}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
td,th{padding:.35rem .6rem;border-bottom:1px solid #e2e8f0;text-align:left;vertical-align:top}th{font-weight:600}
.cards{display:flex;gap:1rem;flex-wrap:wrap}
.card{border:1px solid #e2e8f0;border-radius:.5rem;padding:.6rem 1rem;min-width:8rem}
.card b{display:block;font-size:1.6rem}
.bad{color:#dc2626}.warn{color:#b45309}.key{display:inline-block;margin-right:1rem}
.key i{display:inline-block;width:.8em;height:.8em;margin-right:.4em;border-radius:2px}
svg text{font:11px system-ui;fill:#475569}
"""


@dataclass(frozen=True, slots=True)
class History:
    """A site and its runs, newest first."""

    site: Site
    runs: Sequence[Run]


def page(histories: Sequence[History], now: datetime) -> str:
    """The report as HTML."""
    body = "".join(
        (
            f"<h1>llms.txt report</h1><p>{now:%Y-%m-%d %H:%M} UTC, {_count(len(histories), 'site')}</p>",
            _cards(histories, now),
            "<h2>Outcomes a day</h2>",
            outcome_plot(histories, now),
            "<h2>Age of the last look</h2>",
            freshness_plot(histories, now),
            "<h2>Sites</h2>",
            _sites(histories, now),
            "<h2>Changes</h2>",
            _changes(histories),
        )
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>llms.txt report</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>{body}</body></html>\n'
    )


def outcome_plot(histories: Sequence[History], now: datetime) -> str:
    """Stacked bars: how the runs of each of the last days ended."""
    days = [now.date() - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    counts: dict[date, Counter[Outcome]] = {day: Counter() for day in days}
    for history in histories:
        for run in history.runs:
            if run.finished_at.date() in counts:
                counts[run.finished_at.date()][run.outcome] += 1
    most = max((sum(counter.values()) for counter in counts.values()), default=0) or 1
    bars = []
    for index, day in enumerate(days):
        height = 0.0
        for outcome, color in COLORS.items():
            size = 150 * counts[day][outcome] / most
            if size:
                title = f"{day}: {counts[day][outcome]} {NAMES[outcome]}"
                bars.append(_bar(40 + index * 30, 160 - height - size, 24, size, color, title))
            height += size
        if index % 5 == 0:
            bars.append(f'<text x="{40 + index * 30}" y="178">{day:%m-%d}</text>')
    keys = "".join(f'<span class="key"><i style="background:{COLORS[o]}"></i>{NAMES[o]}</span>' for o in COLORS)
    axis = f'<text x="0" y="16">{most}</text><text x="0" y="164">0</text>'
    return f'<svg viewBox="0 0 950 185" role="img" aria-label="outcomes a day">{axis}{"".join(bars)}</svg><p>{keys}</p>'


def freshness_plot(histories: Sequence[History], now: datetime) -> str:
    """How many sites were last looked at how long ago."""
    bounds: Mapping[str, float] = {"6 h": 6, "1 day": 24, "3 days": 72, "7 days": 168, "30 days": 720, "more": 1e9}
    found: Counter[str] = Counter()
    for history in histories:
        looked = history.site.last_checked_at
        hours = 1e8 if looked is None else (now - looked).total_seconds() / 3600
        found[next(name for name, bound in bounds.items() if hours <= bound)] += 1
    most = max(found.values(), default=1)
    rows = []
    for index, name in enumerate(bounds):
        width = 700 * found[name] / most
        label = f"up to {name}" if name != "more" else "longer, or never"
        rows.append(f'<text x="0" y="{index * 26 + 16}">{label}</text>')
        rows.append(_bar(120, index * 26 + 3, width, 18, "#2563eb" if name != "more" else "#dc2626", f"{found[name]}"))
        rows.append(f'<text x="{126 + width:.0f}" y="{index * 26 + 16}">{found[name]}</text>')
    return (
        f'<svg viewBox="0 0 950 {len(bounds) * 26}" role="img" aria-label="age of the last look">{"".join(rows)}</svg>'
    )


def _cards(histories: Sequence[History], now: datetime) -> str:
    sites = [history.site for history in histories]
    overdue = sum(site.next_crawl_at is not None and site.next_crawl_at < now - timedelta(hours=1) for site in sites)
    cards = (
        ("sites", len(sites), ""),
        ("overdue", overdue, "bad"),
        ("failing", sum(site.failure_count > 0 for site in sites), "warn"),
        ("held", sum(site.last_outcome is Outcome.HELD for site in sites), "warn"),
        ("disabled", sum(site.status is SiteStatus.DISABLED for site in sites), "bad"),
    )
    return (
        '<div class="cards">'
        + "".join(
            f'<div class="card"><b class="{kind if number else ""}">{number}</b>{name}</div>'
            for name, number, kind in cards
        )
        + "</div>"
    )


def _sites(histories: Sequence[History], now: datetime) -> str:
    names = ("site", "status", "last outcome", "looked at", "changed", "next look")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = []
    for history in histories:
        site = history.site
        error = f'<br><span class="warn">{escape(site.last_error)}</span>' if site.last_error else ""
        name = escape(site.base_url)
        link = f'<a href="{escape(site.latest_llms_url)}">{name}</a>' if site.latest_llms_url else name
        cells = (
            link + error,
            site.status,
            NAMES[site.last_outcome] if site.last_outcome else "",
            _ago(site.last_checked_at, now),
            _ago(site.last_changed_at, now),
            "" if site.next_crawl_at is None else f"{site.next_crawl_at:%Y-%m-%d %H:%M}",
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>"


def _changes(histories: Sequence[History]) -> str:
    found = [(run, history.site) for history in histories for run in history.runs if run.outcome is Outcome.UPDATED]
    found.sort(key=lambda item: item[0].finished_at, reverse=True)
    rows = "".join(
        f"<tr><td>{run.finished_at:%Y-%m-%d %H:%M}</td><td>{escape(site.base_url)}</td>"
        f"<td>{escape(run.reason)}</td></tr>"
        for run, site in found[:50]
    )
    return f"<table><tr><th>when</th><th>site</th><th>what</th></tr>{rows}</table>" if rows else "<p>none yet</p>"


def _bar(x: float, y: float, width: float, height: float, color: str, title: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "never"
    minutes = max(0, int((now - moment).total_seconds() // 60))
    if minutes < 120:
        return _count(minutes, "minute") + " ago"
    return _count(minutes // 60, "hour") + " ago" if minutes < 2_880 else _count(minutes // 1_440, "day") + " ago"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
