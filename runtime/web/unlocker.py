"""The `Unlocker` port over Bright Data's Web Unlocker: one POST a page, the page's own bytes back.

https://docs.brightdata.com/api-reference/rest-api/unlocker: `{"zone", "url", "format": "raw"}` with a bearer key. What
went wrong behind the API is named in `x-brd-error-code`, also under a status of 200. Only successes are billed.
"""

from __future__ import annotations

import json

from runtime.errors import FetchFailed, Refused, VendorFailed
from runtime.ports import Web
from runtime.reading import Response

ENDPOINT = "https://api.brightdata.com/request"
FINAL = frozenset({401, 402, 403, 407})
"""Wrong key, no credit, zone not allowed: the next page would be answered alike."""

ERROR_HEADERS = ("x-brd-error-code", "x-brd-err-code", "x-brd-error", "x-luminati-error-code", "x-luminati-error")


class BrightData:
    """One zone of one account. Requests go out through the fetch gate, like any other."""

    def __init__(self, web: Web, *, api_key: str, zone: str, endpoint: str = ENDPOINT) -> None:
        self._web, self._api_key, self._zone, self._endpoint = web, api_key, zone, endpoint

    async def fetch(self, url: str, *, max_bytes: int) -> Response:
        """See `runtime.ports.Unlocker.fetch`."""
        body = json.dumps({"zone": self._zone, "url": url, "format": "raw"}).encode()
        headers = {"authorization": f"Bearer {self._api_key}", "content-type": "application/json"}
        try:
            answer = await self._web.post(self._endpoint, body=body, headers=headers, max_bytes=max_bytes)
        except FetchFailed as error:
            raise VendorFailed("the unlocker does not answer", code=error.code) from None
        except Refused as error:
            raise VendorFailed("the unlocker's address is not allowed", code=error.code, final=True) from None
        if answer.status != 200:
            status = answer.status
            raise VendorFailed(f"the unlocker answers {status}", code=f"status_{status}", final=status in FINAL)
        if any(answer.header(name) for name in ERROR_HEADERS):
            raise VendorFailed("the unlocker could not get the page", code="not_unlocked")
        if not answer.complete and len(answer.body) < max_bytes:
            raise VendorFailed("the unlocker's answer ended early", code="answer_cut")
        # Its headers are the API's own; of the page only the type is told.
        kept = tuple((name, value) for name, value in answer.headers if name == "content-type")
        return Response(url, 200, kept, answer.body, answer.complete, (url,))
