"""Bodies that wait to be read: the same bytes however they are held, and room that comes back."""

from __future__ import annotations

import hashlib
import random

from runtime.sitemap.body import OWN, SITE_ROOM, Allowance, Body, Room

PLENTY = 1 << 40


def test_a_body_reads_the_same_plain_and_packed() -> None:
    """Its own share stays as it came and the rest is packed where there is no room; bytes and digest are the same."""
    pieces = [random.Random(number).randbytes(7_000 + number).hex().encode() for number in range(60)]
    for room in (Room(PLENTY), Room(0), Room(OWN)):
        body = Body(Allowance(PLENTY, PLENTY), room)
        assert all(body.take(piece) for piece in pieces)
        for _ in range(2):
            assert b"".join(body.pieces()) == b"".join(pieces)
        assert body.sha256 == hashlib.sha256(b"".join(pieces)).hexdigest()
        assert len(body) == sum(map(len, pieces))


def test_room_comes_back_when_a_body_is_dropped() -> None:
    """A reading may be cancelled at any time: what its bodies took is free again."""
    room, allowance = Room(1_000), Allowance(PLENTY, PLENTY)
    body = Body(allowance, room)
    body.take(bytes(OWN + 1_000))
    assert not room.take(1)
    body.take(bytes(OWN))
    del body
    assert room.take(1_000)
    assert allowance.room.take(SITE_ROOM)


def test_what_cannot_be_packed_is_cut_where_the_room_of_its_site_ends() -> None:
    """Noise is held up to a bound; what was taken before is given whole."""
    chance = random.Random(1)
    body, pieces = Body(Allowance(PLENTY, PLENTY), Room(0)), []
    while body.take(piece := chance.randbytes(1 << 20)):
        pieces.append(piece)
    assert f"more than {SITE_ROOM} bytes" in body.problem
    assert b"".join(body.pieces()).startswith(b"".join(pieces[:-1]))
    assert not body.take(b"x")


def test_all_bodies_of_a_site_share_its_allowance() -> None:
    """The bytes on the wire and the decoded ones are counted apart; the first to be used up ends the reading."""
    allowance = Allowance(100, 1_000)
    one, two = Body(allowance), Body(allowance)
    assert one.came(90)
    assert one.take(bytes(900))
    assert not two.came(11)
    assert "on the wire" in two.problem
    assert "on the wire" in allowance.spent
    other = Allowance(100, 1_000)
    assert not Body(other).take(bytes(1_001))
    assert "hold too many bytes" in other.spent
