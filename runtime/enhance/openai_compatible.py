"""The `Model` port over an OpenAI-compatible chat API: OpenRouter by default, or anything that speaks the same.

https://openrouter.ai/docs/api-reference/chat-completion; an error is `{"error": {"code": …, "message": …}}`, also in an
answer with status 200 once the model has begun. Nothing of an error's text is passed on: it may quote the request.
"""

from __future__ import annotations

import json
from typing import Any

from runtime.errors import FetchFailed, Refused, VendorFailed
from runtime.ports import Completion, Web
from runtime.reading import Response

OPENROUTER = "https://openrouter.ai/api/v1"
MAX_ANSWER_BYTES = 262_144
FINAL = frozenset({400, 401, 402, 403, 404})
"""Refusals that the next call would get as well: wrong key, no credit, no such model."""

WORTH_ANOTHER = frozenset({408, 425, 429, 500, 502, 503, 504})
DEFAULT_WAIT_SECONDS = 1.0


class OpenAiCompatible:
    """One model of one provider. Requests go out through the fetch gate, like any other."""

    def __init__(self, web: Web, *, api_key: str, model: str, base_url: str = OPENROUTER) -> None:
        self._web, self._api_key, self.name = web, api_key, model
        self._url = f"{base_url.rstrip('/')}/chat/completions"

    async def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See `runtime.ports.Model.complete`."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        asked = {"model": self.name, "messages": messages, "temperature": 0, "max_tokens": max_tokens}
        headers = {"authorization": f"Bearer {self._api_key}", "content-type": "application/json"}
        body = json.dumps(asked).encode()
        try:
            answer = await self._web.post(self._url, body=body, headers=headers, max_bytes=MAX_ANSWER_BYTES)
        except FetchFailed as error:
            raise VendorFailed("the model's provider does not answer", code=error.code) from None
        except Refused as error:
            raise VendorFailed("the model's address is not allowed", code=error.code, final=True) from None
        if answer.status != 200:
            raise _refused(answer.status, answer)
        return _completion(answer)


def _refused(status: int, answer: Response) -> VendorFailed:
    again = _wait(answer) if status in WORTH_ANOTHER else None
    return VendorFailed(
        f"the model's provider answers {status}", code=f"status_{status}", final=status in FINAL, retry_after=again
    )


def _wait(answer: Response) -> float:
    asked = answer.header("retry-after") or ""
    return float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else DEFAULT_WAIT_SECONDS


def _completion(answer: Response) -> Completion:
    """:raises VendorFailed: cut, no JSON, an error inside, or no text."""
    if not answer.complete:
        raise VendorFailed("the model's answer is too long, or ended early", code="answer_cut")
    try:
        value: Any = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise VendorFailed("the model's answer is no JSON", code="answer_malformed") from None
    error = value.get("error") if isinstance(value, dict) else None
    if error:
        status = error.get("code") if isinstance(error, dict) else None
        if type(status) is int and 400 <= status < 600:
            raise _refused(status, answer)
        raise VendorFailed("the model's provider reports an error", code="model_error")
    try:
        text, usage = value["choices"][0]["message"]["content"], value.get("usage")
    except (KeyError, IndexError, TypeError):
        raise VendorFailed("the model's answer has no text", code="answer_malformed") from None
    if not isinstance(text, str):
        raise VendorFailed("the model's answer has no text", code="answer_malformed")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return Completion(text, tokens if type(tokens) is int and tokens >= 0 else 0)
