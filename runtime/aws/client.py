"""The two services that every new process calls, without boto3: Secrets Manager and SQS, as signed JSON over httpx.

boto3 and two of its clients cost 130 ms of CPU in a new process; this is httpx, which the rows need anyway, and a
signature. Both services speak one protocol, JSON in a POST to `/` with the operation in a header
(https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html). Methods, answers and errors are those of boto3's
clients, so that either can be passed on. All other services are boto3's.

Region, keys and endpoints are in the variables that Lambda sets and boto3 reads too.
"""

from __future__ import annotations

import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from runtime.aws.signature import Credentials, signed
from runtime.errors import Misconfigured
from runtime.web.tls import shared_tls

if TYPE_CHECKING:
    import httpx

    from runtime.ports import Clock

CONNECT_SECONDS, READ_SECONDS, IDLE_SECONDS = 3.0, 5.0, 20.0
WAITS = (0.0, 1.0, 2.0)
"""Seconds before each try, the most of a random wait: boto3's standard mode."""

BUSY = frozenset({"Throttling", "ThrottlingException", "RequestThrottled", "RequestThrottledException", "SlowDown"})
"""Refusals that another try may not meet, beside every status from 500."""

SUFFIXES = {"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu"}
"""The partitions whose services are not under amazonaws.com, by how their regions begin."""

TRACE = "_X_AMZN_TRACE_ID"
"""The trace of an invocation. Sent on it ties traces together, and Lambda ends loops of functions and queues by it."""


class _Again(Exception):
    """A try that may be repeated, with the error of the last one."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


class JsonService:
    """Calls of one service, each tried three times within half a minute. Threads may share one.

    :param name: the service's name in endpoints and signatures.
    :param version: of the protocol: "1.0" or "1.1".
    :param target: what `X-Amz-Target` says before the operation.
    :param variable: the service in the name of the variable that gives another endpoint.
    :param environment: Lambda's variables; looked at by every call, since the trace is another one each time.
    :raises Misconfigured: no region is known.
    """

    def __init__(
        self,
        name: str,
        version: str,
        target: str,
        variable: str,
        environment: Mapping[str, str],
        clock: Clock,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name, self._version, self._target = name, version, target
        self._environment, self._clock, self._sleep = environment, clock, sleep
        self._region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION", "")
        if not self._region:
            raise Misconfigured("no AWS service can be addressed: set an AWS region", code="no_region")
        variable = (
            f"AWS_ENDPOINT_URL_{name.upper()}" if name != "secretsmanager" else "AWS_ENDPOINT_URL_SECRETS_MANAGER"
        )
        given = environment.get(variable) or environment.get("AWS_ENDPOINT_URL")
        self.url = given or endpoint(name, self._region)
        self._http: httpx.Client | None = None
        self._opening = threading.Lock()

    def call(self, operation: str, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The service's answer.

        :raises ClientError: it refused. :raises BotoCoreError: it was not reached, or there are no keys.
        """
        body = json.dumps(sent).encode()
        failure: Exception | None = None
        for longest in WAITS:
            self._sleep(random.random() * longest)  # noqa: S311 - no secret
            try:
                return self._once(operation, body)
            except _Again as again:
                failure = again.error
        assert failure is not None
        raise failure

    def _once(self, operation: str, body: bytes) -> dict[str, Any]:
        import httpx
        from botocore.exceptions import ClientError, EndpointConnectionError, HTTPClientError

        try:
            answer = self._client().post(self.url, content=body, headers=self._headers(operation, body))
            found = dict(answer.json())
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise _Again(EndpointConnectionError(endpoint_url=self.url)) from None
        except (httpx.HTTPError, ValueError, TypeError) as error:
            raise _Again(HTTPClientError(error=type(error).__name__)) from None
        if answer.status_code == 200:
            return found
        code = code_of(answer.headers, found)
        described: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": answer.status_code}}
        refused = ClientError(described, operation)
        if answer.status_code >= 500 or code in BUSY:
            raise _Again(refused)
        raise refused

    def _headers(self, operation: str, body: bytes) -> dict[str, str]:
        headers = {
            "content-type": f"application/x-amz-json-{self._version}",
            "host": urlsplit(self.url).netloc,
            "x-amz-target": f"{self._target}.{operation}",
        }
        if trace := self._environment.get(TRACE):
            headers["x-amzn-trace-id"] = trace
        keys, now = credentials(self._environment), self._clock().astimezone(UTC)
        return signed(headers, body, credentials=keys, service=self._name, region=self._region, now=now)

    def _client(self) -> httpx.Client:
        import httpx

        with self._opening:
            if self._http is None:
                bundle = self._environment.get("AWS_CA_BUNDLE")
                self._http = httpx.Client(
                    verify=ssl.create_default_context(cafile=bundle) if bundle else shared_tls(),
                    timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
                    limits=httpx.Limits(keepalive_expiry=IDLE_SECONDS),
                    trust_env=False,
                )
            return self._http

    def close(self) -> None:
        if self._http is not None:
            self._http.close()


class SecretsManager(JsonService):
    """What is used of boto3's `secretsmanager` client."""

    def __init__(self, environment: Mapping[str, str], clock: Clock, **options: Any) -> None:
        super().__init__("secretsmanager", "1.1", "secretsmanager", "SECRETS_MANAGER", environment, clock, **options)

    def get_secret_value(self, **sent: Any) -> dict[str, Any]:
        return self.call("GetSecretValue", sent)


class Sqs(JsonService):
    """What is used of boto3's `sqs` client."""

    def __init__(self, environment: Mapping[str, str], clock: Clock, **options: Any) -> None:
        super().__init__("sqs", "1.0", "AmazonSQS", "SQS", environment, clock, **options)

    def send_message(self, **sent: Any) -> dict[str, Any]:
        return self.call("SendMessage", sent)

    def send_message_batch(self, **sent: Any) -> dict[str, Any]:
        return self.call("SendMessageBatch", sent)


def endpoint(service: str, region: str) -> str:
    """Where a service is in a region."""
    suffix = next((suffix for start, suffix in SUFFIXES.items() if region.startswith(start)), "amazonaws.com")
    return f"https://{service}.{region}.{suffix}"


def credentials(environment: Mapping[str, str]) -> Credentials:
    """The keys of the function's role, which Lambda puts into the environment.

    :raises BotoCoreError: there are none.
    """
    key_id, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if not key_id or not secret:
        from botocore.exceptions import NoCredentialsError

        raise NoCredentialsError
    return Credentials(key_id, secret, environment.get("AWS_SESSION_TOKEN", ""))


def code_of(headers: Mapping[str, str], answer: Mapping[str, Any]) -> str:
    """The code of a refusal, as boto3 names it: SQS's of old come in a header, before a semicolon."""
    old = headers.get("x-amzn-query-error", "").partition(";")[0]
    return old or str(answer.get("__type", "")).rpartition("#")[2].partition(":")[0]
