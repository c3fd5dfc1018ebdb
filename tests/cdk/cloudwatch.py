"""A small CloudWatch: evaluates our alarm definitions against metric series, period by period.

What is modelled: aligned periods, statistics, metric math (numbers, names, + - * /, comparisons, FILL, IF), M of N
datapoints, and the three ways of treating missing data that we use. Two things are not promised by AWS in so many
words, so both readings can be evaluated: whether FILL fills a window that holds no datapoint at all (`fill_empty`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from cdk.alarm_spec import AlarmSpec, Signal

Value = float | None


@dataclass
class Series:
    """Datapoints as they were emitted: (source, name) → [(second, value)]."""

    points: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)

    def add(self, source: str, name: str, second: int, value: float, times: int = 1) -> None:
        self.points.setdefault((source, name), []).extend([(second, value)] * times)

    def buckets(self, signal: Signal, period: int, count: int) -> list[Value]:
        """The statistic of each of the first `count` aligned periods; None where nothing was emitted."""
        found: list[list[float]] = [[] for _ in range(count)]
        for second, value in self.points.get((signal.source, signal.name), []):
            if second // period < count:
                found[second // period].append(value)
        return [_statistic(signal.statistic, values) if values else None for values in found]


def firing_times(spec: AlarmSpec, series: Series, until: int, *, fill_empty: bool = True) -> list[tuple[int, int]]:
    """(fired, over) in seconds for every time the alarm is in ALARM; `over` is `until` for one that still is."""
    count = until // spec.period
    columns = {name: series.buckets(signal, spec.period, count) for name, signal in spec.signals.items()}
    spans: list[tuple[int, int]] = []
    since: int | None = None
    for last in range(spec.periods - 1, count):
        window = slice(last - spec.periods + 1, last + 1)
        values = _watched(spec, {name: column[window] for name, column in columns.items()}, fill_empty=fill_empty)
        alarmed = _judge(spec, values, now=since is not None)
        end = (last + 1) * spec.period
        if alarmed and since is None:
            since = end
        elif not alarmed and since is not None:
            spans.append((since, end))
            since = None
    return [*spans, (since, until)] if since is not None else spans


def _judge(spec: AlarmSpec, values: Sequence[Value], *, now: bool) -> bool:
    known = [value for value in values if value is not None]
    missing = len(values) - len(known)
    compare = {">=": float.__ge__, ">": float.__gt__, "<": float.__lt__}[spec.comparison]
    breaching = sum(compare(float(value), float(spec.threshold)) for value in known)
    if spec.missing == "breaching":
        breaching += missing
    if breaching >= spec.datapoints:
        return True
    # Not enough breaching ones, and the missing ones leave it as it is: only enough good ones end the alarm.
    if spec.missing == "ignore" and len(known) - breaching <= spec.periods - spec.datapoints:
        return now
    return False


def _watched(spec: AlarmSpec, window: Mapping[str, Sequence[Value]], *, fill_empty: bool) -> list[Value]:
    if spec.expression is None:
        (values,) = window.values()
        return list(values)
    return _evaluate(ast.parse(spec.expression, mode="eval").body, window, spec.periods, fill_empty)


def _evaluate(node: ast.expr, window: Mapping[str, Sequence[Value]], size: int, fill_empty: bool) -> list[Value]:
    def of(part: ast.expr) -> list[Value]:
        return _evaluate(part, window, size, fill_empty)

    match node:
        case ast.Constant(value=int() | float() as number):
            return [float(number)] * size
        case ast.Name(id=name):
            return list(window[name])
        case ast.BinOp(left=left, op=op, right=right):
            return [_arithmetic(op, a, b) for a, b in zip(of(left), of(right), strict=True)]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return [_comparison(op, a, b) for a, b in zip(of(left), of(right), strict=True)]
        case ast.Call(func=ast.Name(id="FILL"), args=[inner, ast.Constant(value=int() | float() as number)]):
            values = of(inner)
            if not fill_empty and all(value is None for value in values):
                return values
            return [float(number) if value is None else value for value in values]
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, otherwise]):
            rows = zip(of(condition), of(then), of(otherwise), strict=True)
            return [None if c is None else (a if c else b) for c, a, b in rows]
    raise NotImplementedError(ast.dump(node))


def _arithmetic(op: ast.operator, a: Value, b: Value) -> Value:
    if a is None or b is None or (isinstance(op, ast.Div) and b == 0):
        return None
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.Div():
            return a / b
    raise NotImplementedError(ast.dump(op))


def _comparison(op: ast.cmpop, a: Value, b: Value) -> Value:
    if a is None or b is None:
        return None
    results = {ast.GtE: a >= b, ast.Gt: a > b, ast.Lt: a < b, ast.LtE: a <= b, ast.Eq: a == b}
    return float(results[type(op)])


def _statistic(name: str, values: list[float]) -> float:
    if name.startswith("p"):
        ordered = sorted(values)
        return ordered[min(len(ordered), max(1, ceil(len(ordered) * float(name[1:]) / 100))) - 1]
    return {"Sum": sum(values), "Maximum": max(values), "Minimum": min(values), "SampleCount": float(len(values))}[name]
