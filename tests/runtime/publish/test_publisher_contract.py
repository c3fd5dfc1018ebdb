"""What every publisher promises, run on a folder and on a real S3-compatible server."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from urllib.parse import unquote, urlsplit

import pytest

from runtime.errors import InputError, PreconditionFailed
from runtime.ports import Publisher

KEY = "docs.example.com/llms.txt"


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


async def put(publisher: Publisher, body: bytes, expected: str | None, *, key: str = KEY, generation: int = 1) -> str:
    return await publisher.put(key, body, sha256=digest(body), generation=generation, expected_etag=expected)


async def test_a_new_object_is_read_back_with_its_etag_and_hash(publisher: Publisher) -> None:
    """What was put is what is read, byte for byte."""
    body = "# Zürich\n\n> 文档\n".encode()
    etag = await put(publisher, body, None)
    stored = await publisher.read(KEY)

    assert stored is not None
    assert (body, etag, digest(body)) == (stored.body, stored.etag, stored.sha256)


async def test_a_missing_object_reads_as_none(publisher: Publisher) -> None:
    """No object is an answer, not an error; neither is a prefix of other objects."""
    await put(publisher, b"x", None)

    assert await publisher.read("docs.example.com/other.txt") is None
    assert await publisher.read("docs.example.com") is None
    assert await publisher.read(f"{KEY}/below") is None


async def test_without_an_expected_etag_an_existing_object_is_not_overwritten(publisher: Publisher) -> None:
    """None means that there must be no object."""
    etag = await put(publisher, b"first", None)
    with pytest.raises(PreconditionFailed):
        await put(publisher, b"second", None)
    stored = await publisher.read(KEY)

    assert stored is not None
    assert (b"first", etag) == (stored.body, stored.etag)


async def test_the_expected_etag_lets_the_next_version_in(publisher: Publisher) -> None:
    """A writer that knows the present object replaces it, and learns the new ETag."""
    first = await put(publisher, b"first", None)
    second = await put(publisher, b"second", first, generation=2)
    stored = await publisher.read(KEY)

    assert stored is not None
    assert (b"second", second, digest(b"second")) == (stored.body, stored.etag, stored.sha256)
    assert first != second


async def test_a_stale_writer_gives_up(publisher: Publisher) -> None:
    """F-56: of two workers with different bytes, the one with the older ETag loses, whatever its generation."""
    first = await put(publisher, b"first", None)
    await put(publisher, b"second", first, generation=3)
    with pytest.raises(PreconditionFailed):
        await put(publisher, b"from the older crawl", first, generation=9)
    stored = await publisher.read(KEY)

    assert stored is not None
    assert stored.body == b"second"


async def test_an_expected_etag_does_not_create_an_object(publisher: Publisher) -> None:
    """Replacing what is gone is refused: the writer must look again."""
    with pytest.raises(PreconditionFailed):
        await put(publisher, b"body", '"9dd4e461268c8034f5c8564e155c67a6"')

    assert await publisher.read(KEY) is None


@pytest.mark.parametrize("known", [False, True])
async def test_a_write_whose_answer_was_lost_may_be_repeated(publisher: Publisher, known: bool) -> None:
    """F-53: the same call once more is a success, with the same ETag, though its condition no longer holds."""
    before = await put(publisher, b"before", None) if known else None
    first = await put(publisher, b"body", before, generation=4)
    again = await put(publisher, b"body", before, generation=4)

    assert first == again


async def test_equal_bytes_under_another_hash_are_no_repetition(publisher: Publisher) -> None:
    """The hash says which document the bytes stand for; a different one is somebody else's write."""
    await put(publisher, b"body", None)
    with pytest.raises(PreconditionFailed):
        await publisher.put(KEY, b"body", sha256=digest(b"another"), generation=1, expected_etag=None)


async def test_a_version_is_written_once(publisher: Publisher) -> None:
    """An immutable object that is there already is left alone, and that is a success."""
    key = f"docs.example.com/versions/{digest(b'one')}.txt"
    await publisher.put_version(key, b"one", sha256=digest(b"one"))
    await publisher.put_version(key, b"two", sha256=digest(b"two"))
    stored = await publisher.read(key)

    assert stored is not None
    assert (b"one", digest(b"one")) == (stored.body, stored.sha256)


async def test_removing_takes_the_expected_etag(publisher: Publisher) -> None:
    """A changed object is not removed; a missing one is removed already; neighbours stay."""
    old = await put(publisher, b"old", None)
    new = await put(publisher, b"new", old)
    await put(publisher, b"other", None, key="docs.example.com/docs/llms.txt")
    with pytest.raises(PreconditionFailed):
        await publisher.delete(KEY, expected_etag=old)
    await publisher.delete(KEY, expected_etag=new)
    await publisher.delete(KEY, expected_etag=new)

    assert await publisher.read(KEY) is None
    assert await publisher.read("docs.example.com/docs/llms.txt") is not None


async def test_a_removed_object_can_be_published_anew(publisher: Publisher) -> None:
    """After a removal the key is free again."""
    etag = await put(publisher, b"old", None)
    await publisher.delete(KEY, expected_etag=etag)
    await put(publisher, b"new", None)
    stored = await publisher.read(KEY)

    assert stored is not None
    assert (b"new", digest(b"new")) == (stored.body, stored.sha256)


@pytest.mark.parametrize(
    "key",
    [
        "127.0.0.1:8080/llms.txt",
        "example.com/a b/llms.txt",
        "example.com/caf%C3%A9/llms.txt",
        "example.com/é+&?#/llms.txt",
    ],
)
async def test_unusual_keys_are_kept_as_they_are(publisher: Publisher, key: str) -> None:
    """Ports, blanks, percent signs and non-ASCII letters survive, and the public URL decodes to the key."""
    await put(publisher, key.encode(), None, key=key)
    stored = await publisher.read(key)

    assert stored is not None
    assert stored.body == key.encode()
    assert unquote(urlsplit(publisher.url(key)).path) == f"/{key}"


@pytest.mark.parametrize(
    "key",
    ["", "/etc/passwd", "../secret", "a/../../secret", "a//b", "a/./b", "a/", "a\\..\\b", "a\0b", "a\nb", "a/" + "x" * 256,
     "/".join(["abc"] * 300), "a/\ud800"],
)  # fmt: skip
async def test_keys_that_could_leave_the_bucket_are_refused(publisher: Publisher, key: str) -> None:
    """No call takes a key that is not a plain path below the root."""
    with pytest.raises(InputError):
        await put(publisher, b"x", None, key=key)
    with pytest.raises(InputError):
        await publisher.put_version(key, b"x", sha256=digest(b"x"))
    with pytest.raises(InputError):
        await publisher.read(key)
    with pytest.raises(InputError):
        await publisher.delete(key, expected_etag='"x"')
    with pytest.raises(InputError):
        publisher.url(key)


async def test_of_many_first_writers_exactly_one_wins(publisher: Publisher) -> None:
    """The condition is decided by the store, so a race has one winner and its bytes are the ones that stay."""
    bodies = [f"writer {number}".encode() for number in range(8)]
    results = await asyncio.gather(*(put(publisher, body, None) for body in bodies), return_exceptions=True)
    stored = await publisher.read(KEY)
    winners = [body for body, result in zip(bodies, results, strict=True) if isinstance(result, str)]

    assert stored is not None
    assert [stored.body] == winners
    assert all(isinstance(result, str | PreconditionFailed) for result in results)


async def test_readers_see_whole_files_while_they_are_replaced(publisher: Publisher) -> None:
    """F-61: every body read during 20 publishes is one that was published, and carries that body's own hash."""
    bodies = [bytes([65 + number]) * (20_000 + 3_000 * number) for number in range(20)]
    etag = await put(publisher, bodies[0], None)
    done = asyncio.Event()
    seen: list[tuple[str, str]] = []

    async def read_until_done() -> None:
        while not done.is_set():
            stored = await publisher.read(KEY)
            assert stored is not None
            seen.append((digest(stored.body), stored.sha256))

    readers = [asyncio.create_task(read_until_done()) for _ in range(4)]
    for body in bodies[1:]:
        etag = await put(publisher, body, etag)
    done.set()
    await asyncio.gather(*readers)

    assert len(seen) >= len(readers)
    assert {body_hash for body_hash, _ in seen} <= {digest(body) for body in bodies}
    assert [body_hash for body_hash, _ in seen] == [claimed for _, claimed in seen]
