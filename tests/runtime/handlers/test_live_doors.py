"""The two doors of the live crawl as Lambda calls them: from a handshake to a published file and a committed row."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest

from runtime import environment as env
from runtime.handlers import live, live_worker
from runtime.handlers.process import Process
from runtime.live import ENABLED
from tests.runtime.handlers.conftest import Cloud, Context, event_of


@dataclass
class Connections:
    """The management API of a WebSocket API's stage: POST /@connections/{id} sends a client one message."""

    address: str
    posted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    gone: bool = False


@pytest.fixture
def connections() -> Iterator[Connections]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            """Tests read what was posted."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.posted.append((unquote(self.path), json.loads(body)))
            self.send_response(410 if found.gone else 200)
            self.send_header("Content-Length", "0")
            if found.gone:
                self.send_header("x-amzn-ErrorType", "GoneException")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Connections(f"http://127.0.0.1:{server.server_port}/live")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def wired(cloud: Cloud, connections: Connections, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """The deployment with a live queue and doors that have not been opened."""
    attributes = {"FifoQueue": "true"}
    url = cloud.aws("sqs").create_queue(QueueName="live.fifo", Attributes=attributes)["QueueUrl"]
    monkeypatch.setenv(env.LIVE_QUEUE_URL, url)
    monkeypatch.setenv(env.LIVE_ENDPOINT_URL, connections.address)
    process = Process(live_worker.NEEDED)
    monkeypatch.setattr(live_worker, "process", process)
    monkeypatch.setattr(live, "_door", None)
    yield cloud
    process.close()
    if live._door is not None:
        live._door.close()


def send(cloud: Cloud, **wanted: Any) -> dict[str, Any]:
    """The client's message through the door; gives the event that SQS makes of it for the worker."""
    event = event_of("websocket_message.json")
    event["body"] = json.dumps({"url": cloud.site.url, **wanted})
    assert live.handler(event, Context()) == {"statusCode": 200}
    record = event_of("sqs.json")["Records"][0]
    cloud.queue_url = cloud.aws("sqs").get_queue_url(QueueName="live.fifo")["QueueUrl"]
    return {"Records": [{**record, "body": message["Body"]} for message in cloud.messages()]}


def test_an_enrolment_from_handshake_to_file(wired: Cloud, connections: Connections) -> None:
    """The key is asked for, the message queued, the frames posted to this connection, the file and the row written."""
    event = event_of("websocket_connect.json")
    assert live.handler(event, Context()) == {"statusCode": 403}
    event["headers"]["X-Api-Key"] = "api-key"
    assert live.handler(event, Context()) == {"statusCode": 200}
    live_worker.handler(send(wired, maxPages=10, enableAutoUpdate=True), Context())
    frames = [frame for _, frame in connections.posted]
    listed = wired.aws("s3").list_objects_v2(Bucket="public")["Contents"]

    assert {path for path, _ in connections.posted} == {"/live/@connections/L0SM9cOFvHcCIhw="}
    assert frames[-1]["type"] == "done"
    assert frames[-1]["site"]["maxPages"] == 10
    assert ENABLED in [frame["content"] for frame in frames]
    assert any(item["Key"].endswith("/llms.txt") for item in listed)
    assert "api-key" not in wired.log.getvalue()


def test_a_client_that_has_gone_is_enrolled_all_the_same(wired: Cloud, connections: Connections) -> None:
    """Its first frame is answered with 410, and the site is published."""
    connections.gone = True
    live_worker.handler(send(wired, maxPages=5, enableAutoUpdate=True), Context())
    status, found = wired.call("GET", "/sites", X_Api_Key="api-key")

    assert len(connections.posted) == 1
    assert (status, [site["last_outcome"] for site in found["sites"]]) == (200, ["updated"])
