"""Notifications that a run could not deliver are kept, tried again under the same id, and never for who has gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime import notify
from runtime.errors import InputError, StoreDown
from runtime.letters import Letter, from_json, to_json
from runtime.models import Commit, Outcome, SiteOptions
from runtime.queues.letters import FolderLetters
from runtime.registry import Enrollment
from runtime.settings import Settings
from tests.runtime.test_notify import OPERATOR_URL, OWNER_URL, SECRET, SERVICE, Post, answering, is_signed

LETTER = Letter(site_id="s1", role="site", id="run-1", kind="llms_txt.updated", body='{"type":"llms_txt.updated"}')


class Kept:
    """Letters in memory; `down` is a queue that does not answer."""

    def __init__(self, *, down: bool = False) -> None:
        self.letters: list[Letter] = []
        self.down = down

    async def keep(self, letter: Letter) -> None:
        if self.down:
            raise StoreDown("no answer")
        self.letters.append(letter)


async def failed(post: Post, kept: Kept) -> None:
    """A run whose message nobody takes, to the owner of an enrolled site."""
    world = replace(post.world(), letters=kept)
    options = SiteOptions(notify_url=OWNER_URL)
    row, _new = await world.sites.enroll(
        Enrollment(base_url="https://docs.example.com", options=options, webhook_secret=SECRET)
    )
    commit = Commit(run_id="run-1", tick_id=None, outcome=Outcome.UPDATED, reason="because", next_crawl_at=None)
    await notify.after_run(world, row, row, commit, None, sleep=post.sleep)


async def test_what_nobody_takes_is_kept_without_address_or_secret() -> None:
    """The letter is the body that was posted; where it goes is looked up when it is tried again."""
    post, kept = Post(answering(*[503] * 9)), Kept()
    await failed(post, kept)
    (letter,) = kept.letters

    assert letter.body.encode() == post.received[0].content
    assert (letter.role, letter.kind, letter.id) == ("site", "llms_txt.updated", "run-1")
    assert OWNER_URL not in to_json(letter)
    assert SECRET not in to_json(letter)
    assert [fields["kept"] for name, fields in post.said if name == "notification_failed"] == [True]


async def test_a_queue_that_is_down_is_said_and_does_not_fail_the_run() -> None:
    """The event of the failure says that nothing was kept."""
    post = Post(answering(*[503] * 9))
    await failed(post, Kept(down=True))

    assert [fields["kept"] for name, fields in post.said if name == "notification_failed"] == [False]


@pytest.mark.parametrize(("status", "done"), [(200, True), (503, False), (404, False)])
async def test_a_letter_is_tried_once_more_with_the_same_id_and_a_fresh_signature(status: int, done: bool) -> None:
    """To the operator, whose address is the deployment's; a refusal leaves it in the queue."""
    settings = Settings(notify_url=OPERATOR_URL, notify_secrets=(SERVICE,))
    post = Post(answering(status), settings=settings)
    world = post.world()
    row, _new = await world.sites.enroll(
        Enrollment(base_url="https://docs.example.com", options=SiteOptions(), webhook_secret=SECRET)
    )
    letter = replace(LETTER, site_id=row.id, role="service")
    assert await notify.deliver_again(world, letter) is done
    (request,) = post.received

    assert str(request.url) == OPERATOR_URL
    assert request.headers["webhook-id"] == "run-1"
    assert request.content == letter.body.encode()
    assert is_signed(request, SERVICE)


async def test_a_letter_to_who_wants_none_any_more_is_dropped() -> None:
    """The site was removed, or its owner took the address away."""
    post = Post(answering())
    world = post.world()
    row, _new = await world.sites.enroll(
        Enrollment(base_url="https://docs.example.com", options=SiteOptions(), webhook_secret=SECRET)
    )
    assert await notify.deliver_again(world, replace(LETTER, site_id=row.id))
    assert await notify.deliver_again(world, replace(LETTER, site_id="00000000-0000-4000-8000-000000000000"))
    assert post.received == []
    assert [name for name, _fields in post.said] == ["notification_dropped"] * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"v": 2}',
        to_json(LETTER).replace('"run-1"', "1"),
        to_json(LETTER).replace(LETTER.kind, "x"),
        "[" * 9_999,
    ],
)
def test_a_text_that_is_no_letter_is_refused(text: str) -> None:
    """It goes to the dead letters with its reason."""
    assert from_json(to_json(LETTER)) == LETTER
    with pytest.raises(InputError):
        from_json(text)


async def test_a_laptop_keeps_letters_in_a_folder(tmp_path: Path) -> None:
    """One file a letter, whatever is tried again."""
    letters = FolderLetters(tmp_path / "undelivered")
    await letters.keep(LETTER)
    await letters.keep(LETTER)
    (path,) = (tmp_path / "undelivered").iterdir()
    found: dict[str, Any] = json.loads(path.read_text())

    assert found["body"] == LETTER.body
    (tmp_path / "blocked").write_text("")
    with pytest.raises(StoreDown):
        await FolderLetters(tmp_path / "blocked").keep(LETTER)
