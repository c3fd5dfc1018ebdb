"""Signature Version 4 of a call to AWS: a POST to `/` with a body of JSON. Pure.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key pair; those of a role have a session token."""

    key_id: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)


def signed(
    headers: Mapping[str, str], body: bytes, *, credentials: Credentials, service: str, region: str, now: datetime
) -> dict[str, str]:
    """The headers with date, token and `authorization`; every one of them is signed.

    :param headers: names in lower case, `host` among them; values without blanks at their ends or in a row.
    :param now: UTC.
    """
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    sent = {**headers, "x-amz-date": stamp}
    if credentials.token:
        sent["x-amz-security-token"] = credentials.token
    names = sorted(sent)
    listed = "".join(f"{name}:{sent[name]}\n" for name in names)
    request = "\n".join(("POST", "/", "", listed, ";".join(names), hashlib.sha256(body).hexdigest()))
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{credentials.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{credentials.key_id}/{scope}"
    given = f"{ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"
    return {**sent, "authorization": given}
