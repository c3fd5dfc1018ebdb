"""The parts of a page of docs/ that are made: what stands between `<!-- made: name -->` and the next `<!-- end -->`."""

from __future__ import annotations

import re


def part_of(page: str, name: str) -> str:
    """What stands in a part.

    :raises ValueError: the page has no such part.
    """
    found = _part(name).search(page)
    if found is None:
        raise ValueError(f"the page has no part {name!r}")
    return found[1]


def replace_part(page: str, name: str, body: str) -> str:
    """The page with `body` in a part, and the rest as it was.

    :raises ValueError: the page has no such part.
    """
    part_of(page, name)
    made = f"<!-- made: {name} -->\n\n{body.strip()}\n\n<!-- end -->"
    return _part(name).sub(lambda _: made, page, count=1)


def _part(name: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- made: {re.escape(name)} -->(.*?)<!-- end -->", re.DOTALL)
