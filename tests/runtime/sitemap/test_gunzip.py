"""gzip files that cost more than they give."""

from __future__ import annotations

import gzip

from runtime.sitemap.gunzip import MEMBERS, gunzip


def test_a_flood_of_members_is_cut() -> None:
    """What the first members hold is given, the rest is called damaged; blocks of 64 KiB fill a sitemap before that."""
    damage: list[str] = []
    given = b"".join(gunzip([gzip.compress(b"x") * 100_000], damage.append, damage.append))
    assert given == b"x" * MEMBERS
    assert damage == [f"the gzip stream has more than {MEMBERS} members"]
    assert MEMBERS * 65_536 > 52_428_800
