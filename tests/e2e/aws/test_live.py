"""The live crawl in the deployed account: a real WebSocket client, the API's own connections, the worker behind them."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from runtime.live import ENABLED
from runtime.sample.server import serve_in_thread
from runtime.sample.site import SampleSite
from tests.e2e.aws.account import eventually
from tests.e2e.aws.conftest import Deployment

pytestmark = pytest.mark.e2e

WAIT_SECONDS = 60


def api_key(deployment: Deployment) -> str:
    manager = deployment.account.client("secretsmanager")
    value: str = manager.get_secret_value(SecretId=deployment.outputs["ApiKeySecretArn"])["SecretString"]
    return value


@contextmanager
def connected(deployment: Deployment, query: str = "", **headers: str) -> Iterator[Connection]:
    """A connection to `LiveUrl`. The API's name exists in this account alone, so it is reached by its path."""
    address = urlsplit(deployment.outputs["LiveUrl"])
    assert address.scheme == "wss"
    api = (address.hostname or "").partition(".")[0]
    port, path = deployment.account.port, f"/_aws/execute-api/{api}{address.path}{query}"
    trust = ssl.create_default_context(cafile=deployment.account.environment["AWS_CA_BUNDLE"])
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    with connect(
        f"wss://127.0.0.1:{port}{path}", ssl=trust, additional_headers=sent, proxy=None, open_timeout=WAIT_SECONDS
    ) as client:
        yield client


def frames(client: Connection) -> list[dict[str, Any]]:
    """Every frame up to `done`, the last."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["type"] != "done":
        found.append(json.loads(client.recv(timeout=WAIT_SECONDS)))
    return found


@pytest.fixture
def another_site() -> Iterator[str]:
    """A site that nobody has enrolled."""
    with serve_in_thread(SampleSite()) as web:
        yield web.url


@pytest.mark.parametrize("query", ["", "?api_key=wrong", "?token=0000.wrong"])
def test_nobody_connects_without_a_key(deployment: Deployment, query: str) -> None:
    """The handshake fails with 403."""
    with pytest.raises(InvalidStatus) as refused, connected(deployment, query):
        pass
    assert refused.value.response.status_code == 403


def test_a_site_is_enrolled_while_its_owner_watches(deployment: Deployment, another_site: str) -> None:
    """Lines, progress, the file, its address, `done`; then there is a row, and readers get the same bytes."""
    with connected(deployment, X_Api_Key=api_key(deployment)) as client:
        client.send(json.dumps({"url": another_site, "maxPages": 12, "enableAutoUpdate": True}))
        found = frames(client)
    by_type = {kind: [frame for frame in found if frame["type"] == kind] for kind in (f["type"] for f in found)}
    assert set(by_type) == {"log", "progress", "result", "url", "done"}, found
    site = found[-1]["site"]
    (row,) = [one for one in deployment.api("GET", "/sites").json()["sites"] if one["url"] == another_site]
    assert (row["id"], row["status"], row["maxPages"]) == (site["id"], "active", 12)
    assert ENABLED in [frame["content"] for frame in by_type["log"]]
    assert by_type["url"][0]["content"] == row["llms_url"]
    answer = deployment.read(row["llms_url"])
    assert answer.status_code == 200
    assert answer.text == "".join(frame["content"] for frame in by_type["result"])
    assert by_type["progress"][-1]["pages"] == 12
    shown = json.dumps({"base_url": another_site, "webhook_secret": site["webhook_secret"]})
    hook = deployment.account.call(
        deployment.outputs["FunctionUrl"], "/internal/hooks/site-changed", method="POST", content=shown
    )
    assert hook.status_code == 200, hook.text


def test_a_token_opens_the_door_and_a_crawl_without_enrolment_leaves_no_row(
    deployment: Deployment, another_site: str
) -> None:
    """`POST /auth/token` through the URL, then the WebSocket with `?token=`, as a browser would."""
    answer = deployment.api("POST", "/auth/token")
    assert (answer.status_code, answer.json()["expires_in"]) == (200, 300), answer.text
    with connected(deployment, f"?token={answer.json()['token']}") as client:
        client.send(json.dumps({"url": another_site, "maxPages": 5}))
        found = frames(client)
    assert "site" not in found[-1]
    (result,) = [frame for frame in found if frame["type"] == "result"]
    assert result["content"].startswith("# ")
    assert another_site not in [site["url"] for site in deployment.api("GET", "/sites").json()["sites"]]


def test_a_bad_field_is_named_to_the_client(deployment: Deployment) -> None:
    """The door queues what it was sent; the worker's answer comes over the same connection."""
    with connected(deployment, f"?api_key={api_key(deployment)}") as client:
        client.send(json.dumps({"url": "https://docs.example.com", "maxPages": 0}))
        found = frames(client)
    assert [(frame["type"], frame.get("field")) for frame in found] == [("error", "maxPages"), ("done", None)]


def test_a_client_that_closes_does_not_stop_the_enrolment(deployment: Deployment, another_site: str) -> None:
    """It asks and goes away at once; the site is enrolled, crawled and published."""
    with connected(deployment, X_Api_Key=api_key(deployment)) as client:
        client.send(json.dumps({"url": another_site, "maxPages": 8, "enableAutoUpdate": True}))

    def published() -> str:
        rows = deployment.api("GET", "/sites").json()["sites"]
        return next((row["llms_url"] for row in rows if row["url"] == another_site and row["llms_url"]), "")

    url = eventually(published, seconds=WAIT_SECONDS)
    assert deployment.read(url).status_code == 200


def test_the_doors_logged_no_key_and_were_denied_nothing(deployment: Deployment) -> None:
    """IAM is enforced in this account; queries and headers held the key."""
    logged = deployment.logged("LiveDoor") + deployment.logged("LiveWorker")
    assert "site_recrawled" in logged
    assert "live_frames_failed" not in logged
    assert "AccessDenied" not in logged
    assert api_key(deployment) not in logged
