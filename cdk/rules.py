"""What a setting may be, said once: the same rule checks a value and words the refusal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin


class ConfigError(ValueError):
    """A context value is not allowed. The message is one sentence that lists what is."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`holds` decides; `allowed` completes the sentence "… must be …"."""

    allowed: str
    holds: Callable[[Any], bool]


ANYTHING = Rule("any text", lambda _value: True)


def between(low: int, high: int) -> Rule:
    return Rule(f"a whole number from {low} to {high:,}", lambda value: low <= value <= high)


def one_of(*values: str | int) -> Rule:
    return Rule("one of " + ", ".join(map(str, values)), lambda value: value in values)


def pattern(expression: str, words: str) -> Rule:
    return Rule(words, lambda value: re.fullmatch(expression, value) is not None)


def read(key: str, given: Any, hint: Any, rule: Rule) -> Any:
    """The value of a context key as its field's type: `-c` gives text, cdk.json gives JSON.

    :raises ConfigError: it is of another type or breaks the rule.
    """
    optional = get_origin(hint) in (Union, UnionType)
    kind = next(arg for arg in get_args(hint) if arg is not type(None)) if optional else hint
    if optional and given in (None, "", "none"):
        return None
    value = _as(kind, given)
    if value is None or not rule.holds(value):
        allowed = "true or false" if kind is bool else rule.allowed + (", or none" if optional else "")
        raise ConfigError(f"-c {key}={given}: must be {allowed}")
    return value


def _as(kind: type, given: Any) -> Any:
    """`given` as `kind`, or None when it cannot be read as one."""
    if kind is bool:
        return given if isinstance(given, bool) else {"true": True, "false": False}.get(str(given))
    if kind is int:
        text = str(given)
        return int(text) if not isinstance(given, bool) and re.fullmatch(r"-?[0-9]{1,9}", text) else None
    return given if isinstance(given, str) else None
