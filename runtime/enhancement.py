"""Gives a document's texts to a model and takes what comes back, within a budget; whatever fails, the file comes out.

The change hash stays that of the extracted document: a model can never cause a change. Its texts are remembered by what
the page says, so that a page that is unchanged is never asked about again, and the file stays the same to the byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from runtime import keys
from runtime.document.changes import compare_documents
from runtime.document.render import Rendered, render
from runtime.enhance import answer, prompt
from runtime.enhance.prompt import Item
from runtime.enhance.rewrite import items_of, rewritten
from runtime.errors import VendorFailed
from runtime.judgement import Survey
from runtime.models import Site
from runtime.ports import Model, World
from runtime.published import Published

ITEMS_PER_CALL = 20
AT_ONCE = 4
MAX_CHARS = 300
"""What a text may have, if the site's own limit is not shorter."""

TOTAL_SECONDS = 60.0
"""All calls of a run together: its lease must outlive them."""

MAX_RETRY_AFTER_SECONDS = 10.0
TOKENS_PER_ITEM = 160

Sleep = Callable[[float], Awaitable[None]]


async def enhance(
    world: World, site: Site, result: Survey, published: Published | None, *, sleep: Sleep = asyncio.sleep
) -> Survey:
    """The result with what readers are to get in `outgoing`, the texts in its state and what they cost in `spent`.

    Without a model, or where the owner does not want one, readers get the document as it was extracted.
    """
    document, rendered = result.document, result.rendered
    if document is None or rendered is None:
        return result
    if world.model is None or not site.options.llm_enhance:
        return replace(result, outgoing=rendered, state=replace(result.state, descriptions={}))
    items = items_of(document, world.model.name)
    limit = min(site.options.desc_length, MAX_CHARS)
    known = {item.key: result.state.descriptions[item.key] for item in items if item.key in result.state.descriptions}
    run = _Run(world, world.model, site, document.title, limit, sleep, texts=known)
    await run.ask([item for item in items if item.key not in known])
    better = rewritten(document, run.texts, world.model.name, limit)
    files = render(better, section_url=lambda slug: world.publisher.url(keys.section(site.base_url, slug)))
    if sorted(files.sections) != sorted(rendered.sections):
        # The texts would divide the document into other files; its layout is the extracted document's.
        better, files = document, rendered
        run.failures += 1
    changes = compare_documents(None if published is None else published.document, better)
    told = result.changes is not None and result.reason == result.changes.summary
    return replace(
        result,
        reason=changes.summary if told else result.reason,
        outgoing=Rendered(text=files.text, sections=files.sections, sha256=rendered.sha256),
        changes=changes,
        state=replace(result.state, descriptions=dict(sorted(run.texts.items()))),
        spent={**result.spent, **run.spent},
    )


@dataclass(slots=True)
class _Run:
    """The calls of one run. `texts` grows by what was answered; an empty text is an answer that was thrown away, and
    is not asked for again. What was not asked for, or failed, is asked for by the next run that reads the site.
    """

    world: World
    model: Model
    site: Site
    title: str
    limit: int
    sleep: Sleep
    texts: dict[str, str]
    calls: int = 0
    tokens: int = 0
    failures: int = 0
    written: int = 0
    refused: bool = False
    said: set[str] = field(default_factory=set)

    @property
    def spent(self) -> dict[str, int]:
        """For the run's row; nothing where nothing was asked or went wrong."""
        numbers = {
            "model_calls": self.calls,
            "model_tokens": self.tokens,
            "model_texts": self.written,
            "model_failures": self.failures,
        }
        return numbers if self.calls or self.failures else {}

    async def ask(self, items: Sequence[Item]) -> None:
        batches = [items[at : at + ITEMS_PER_CALL] for at in range(0, len(items), ITEMS_PER_CALL)]
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                await self._all(batches)
        except TimeoutError:
            self._failed("out_of_time")

    async def _all(self, batches: Sequence[Sequence[Item]]) -> None:
        """One call first: a wrong key is then found out by one call, not by four."""
        at = 0
        while at < len(batches) and not self.refused:
            left = self.world.settings.model_calls_per_run - self.calls
            wave = batches[at : at + min(AT_ONCE if at else 1, left)]
            if not wave:
                self._failed("budget")
                return
            await asyncio.gather(*(self._batch(batch) for batch in wave))
            at += len(wave)

    async def _batch(self, batch: Sequence[Item]) -> None:
        """One batch, and once more if the provider says when."""
        self.calls += 1
        failure = await self._call(batch)
        wait = None if failure is None else failure.retry_after
        if (
            wait is not None
            and wait <= MAX_RETRY_AFTER_SECONDS
            and self.calls < self.world.settings.model_calls_per_run
        ):
            self.calls += 1
            await self.sleep(wait)
            failure = await self._call(batch)
        if failure is not None:
            self._failed(failure.code)
            self.refused = self.refused or failure.final

    async def _call(self, batch: Sequence[Item]) -> VendorFailed | None:
        try:
            said = await self.model.complete(
                prompt.system(self.limit), prompt.request(self.title, batch), max_tokens=TOKENS_PER_ITEM * len(batch)
            )
        except VendorFailed as failure:
            return failure
        self.tokens += said.tokens
        found = answer.read(said.text, batch, self.limit)
        if found is None:
            return VendorFailed("the model's answer is not what was asked for", code="answer_malformed")
        self.texts |= found
        self.written += sum(1 for text in found.values() if text)
        missing = sum(1 for item in batch if not found.get(item.key))
        if missing:
            self._failed("text_refused", missing)
        return None

    def _failed(self, code: str, times: int = 1) -> None:
        """Count it, and say it once a run."""
        self.failures += times
        if code not in self.said:
            self.said.add(code)
            self.world.events.event("model_fell_back", site_id=self.site.id, code=code)
