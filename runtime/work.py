"""A worker's batch: several sites side by side on one event loop, each with its own claim, deadline and outcome.

Politeness is waiting, and a function is billed for waiting; sites that wait together cost little more than one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from runtime import urls
from runtime.errors import BudgetSpent, Misconfigured, NotFound, ServiceError, StaleClaim
from runtime.models import Claim, Summary
from runtime.own_fault import Tally
from runtime.ports import Message, World
from runtime.recrawl import Finished, Look, excused, look, settle

STOP_MARGIN_SECONDS = 45.0
"""With less time than this left no site is started; it is handed back instead."""

WORKER = "worker"


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch came to. `retry` are the messages that must be delivered again."""

    finished: tuple[Finished, ...]
    retry: tuple[Message, ...]

    @property
    def summary(self) -> Summary:
        total = Summary()
        for run in self.finished:
            total = total.plus(run.outcome, crawled=run.crawled)
        return total


async def work(
    world: World,
    messages: Sequence[Message],
    *,
    concurrency: int = 16,
    remaining_seconds: float = 3_600.0,
    trouble: str = "",
) -> BatchResult:
    """Work on the sites of a batch. One site's failure, slowness or hostility does not reach another; a failure that
    nearly all of them share is our own, and is counted for none of them.

    :param remaining_seconds: time until the process is ended.
    :param trouble: why no site may be worked on at all; all are then put off, and none of them is blamed.
    """
    stop_at = asyncio.get_running_loop().time() + remaining_seconds - STOP_MARGIN_SECONDS
    batch = _Batch(world, stop_at, asyncio.Semaphore(concurrency), Tally(len(messages), concurrency), trouble=trouble)
    await asyncio.gather(*(batch.one(message) for message in messages))
    await batch.judge()
    again = [Message(site_id=run.site.id, force=True) for run in batch.finished if run.again]
    if again:
        await world.queue.send(again)
    return BatchResult(tuple(batch.finished), tuple(batch.retry))


@dataclass(slots=True)
class _Batch:
    """The sites of one batch on their way. `waiting` are failures that may turn out to be our own fault; `ours` is the
    code that did, and `trouble` says so in words, or that a store refuses us: then no further site is started.
    """

    world: World
    stop_at: float
    gate: asyncio.Semaphore
    tally: Tally
    finished: list[Finished] = field(default_factory=list)
    retry: list[Message] = field(default_factory=list)
    waiting: list[tuple[Message, Look]] = field(default_factory=list)
    ours: str = ""
    trouble: str = ""

    async def one(self, message: Message) -> None:
        async with self.gate:
            with self._contained(message):
                claim = await self._claim(message)
                if claim is not None:
                    await self._run(replace(message, claim=claim), claim)

    async def judge(self) -> None:
        """Commit the failures that waited for the rest of the batch."""
        self._report()
        waiting, self.waiting = self.waiting, []
        for message, seen in waiting:
            with self._contained(message):
                ours = self.trouble if self.ours and seen.result.code == self.ours else ""
                self.finished.append(await settle(self.world, seen, ours=ours))

    async def _run(self, message: Message, claim: Claim) -> None:
        with self._contained(message):
            if self.trouble:
                seen = excused(claim, self.trouble, tick_id=message.tick_id)
            else:
                if not claim.site.failure_count:
                    self.tally.start(urls.host_of(claim.site.base_url))
                seen = await look(self.world, claim, tick_id=message.tick_id, deadline=self.stop_at)
            await self._take(message, seen)

    async def _take(self, message: Message, seen: Look) -> None:
        """Commit what was seen, at once unless it is a failure that all the others may share."""
        if isinstance(seen.fault, Misconfigured) and not self.trouble:
            self.trouble = str(seen.fault)
            self.world.events.event("configuration_failed", code=seen.fault.code, detail=self.trouble)
        if seen.result.ours:
            self.finished.append(await settle(self.world, seen))
            return
        code = seen.result.code if seen.result.counts_as_failure else ""
        if not seen.claim.site.failure_count:
            self.tally.add(urls.host_of(seen.claim.site.base_url), code)
        if self.tally.may_be_ours(code):
            self.waiting.append((message, seen))
        else:
            self.finished.append(await settle(self.world, seen))
        self._report()
        if not self.ours and not any(self.tally.may_be_ours(one.result.code) for _, one in self.waiting):
            await self.judge()

    def _report(self) -> None:
        """Say once that the fault is ours. A site under way may still do well, which takes nothing back."""
        if self.ours or not (code := self.tally.found()):
            return
        count = self.tally.count(code)
        self.ours, self.trouble = code, f"{count} sites failed alike ({code}), so the fault is ours and none of theirs"
        self.world.events.event("own_fault", code=code, sites=count, detail=self.trouble)

    async def _claim(self, message: Message) -> Claim | None:
        """The tick's claim, renewed, or one of our own for a message that came without; None if no run may begin."""
        world, lease = self.world, self.world.settings.lease_seconds
        if message.claim is not None:
            claim = await world.sites.renew_lease(message.claim, lease_seconds=lease)
        else:
            own = await world.sites.claim_site(
                message.site_id,
                lease_seconds=lease,
                owner=WORKER,
                force=message.force,
                crawls_a_day=world.settings.crawls_a_day,
            )
            if own is None:
                world.events.event("message_dropped", site_id=message.site_id, code="busy")
                return None
            claim = own
        if asyncio.get_running_loop().time() < self.stop_at:
            return claim
        await world.sites.release(claim)
        await world.queue.send([replace(message, claim=None)])
        return None

    @contextmanager
    def _contained(self, message: Message) -> Iterator[None]:
        """One site's trouble ends here."""
        events = self.world.events
        try:
            yield
        except (StaleClaim, NotFound, BudgetSpent) as error:
            # Another worker has the site, it was deleted, or its row stays due until the budget allows: no message.
            events.event("message_dropped", site_id=message.site_id, code=error.code)
        except ServiceError as error:
            events.event("message_failed", site_id=message.site_id, code=error.code, detail=str(error))
            self.retry.append(message)
        except Exception as error:  # noqa: BLE001 - a fault of ours in one site must not end the others; it is retried, then alarmed
            events.event("message_failed", site_id=message.site_id, code="internal", detail=_place_of(error))
            self.retry.append(message)


def _place_of(error: Exception) -> str:
    """The kind of an unforeseen error and where it was raised; its text may hold anything, and stays out of the log."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
    return type(error).__name__ + place
