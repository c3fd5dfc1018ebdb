"""An OpenAI-compatible chat API (https://openrouter.ai/docs/api-reference/chat-completion) with a model of no wit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.stand_ins.vendor import Call, Reply, Vendor, running_vendor

Rewrite = Callable[[dict[str, Any]], Any]
"""From the user's message to what the model says: a JSON value, or text as it is."""


def items(asked: dict[str, Any], text: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    """An obedient answer: a text for every item."""
    return {"items": [{"n": item["n"], "text": text(item)} for item in asked["items"]]}


def completion(content: Any, tokens: int = 120) -> Reply:
    """The answer of the API around what the model says."""
    said = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
    usage = {"prompt_tokens": 100, "completion_tokens": tokens - 100, "total_tokens": tokens}
    return Reply.of({"id": "gen-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})


@contextmanager
def running_chat(rewrite: Rewrite) -> Iterator[Vendor]:
    def answer(call: Call) -> Reply:
        if call.path != "/api/v1/chat/completions" or not {"model", "messages"} <= call.body.keys():
            return Reply.of({"error": {"code": 400, "message": "bad request"}}, 400)
        return completion(rewrite(json.loads(call.body["messages"][-1]["content"])))

    with running_vendor(answer) as server:
        yield server
