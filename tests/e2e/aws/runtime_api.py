"""Lambda's Runtime API on loopback, driving the real `awslambdaric` in a process of its own.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html. What the emulator cannot show is shown here: the asset
alone on the path, the runtime client that Lambda uses, and its way of reporting errors.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:f"


@dataclass(frozen=True, slots=True)
class Ended:
    """How an invocation ended: response, error, init_error, timeout or exit, with what was said."""

    how: str
    said: Any
    seconds: float


@dataclass(slots=True)
class Function:
    """A started function. The first `invoke` includes the start of the process: a cold start."""

    process: subprocess.Popen[str]
    started: float
    timeout: float
    jobs: queue.Queue[tuple[str, bytes, int] | None] = field(default_factory=queue.Queue)
    ended: queue.Queue[tuple[str, Any]] = field(default_factory=queue.Queue)
    log: list[str] = field(default_factory=list)

    def invoke(self, event: Any) -> Ended:
        """Send one event and wait as long as Lambda would; then the process is killed, as Lambda does."""
        began = self.started or time.monotonic()
        self.started = 0.0
        deadline = int((time.time() + self.timeout) * 1000)
        self.jobs.put((str(uuid.uuid4()), json.dumps(event).encode(), deadline))
        end = time.monotonic() + self.timeout
        while time.monotonic() < end:
            try:
                how, said = self.ended.get(timeout=0.02)
            except queue.Empty:
                if self.process.poll() is not None and self.ended.empty():
                    return Ended("exit", self.process.returncode, time.monotonic() - began)
            else:
                return Ended(how, said, time.monotonic() - began)
        self.process.kill()
        return Ended("timeout", None, time.monotonic() - began)


class Quiet(ThreadingHTTPServer):
    """A process that is killed hangs up in the middle of a poll."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def running_function(
    python: Path, asset: Path, handler: str, variables: Mapping[str, str], *, timeout: float
) -> Iterator[Function]:
    """Start `handler` of the asset under `python`, which has awslambdaric and boto3 and nothing else of ours."""
    function: Function

    class Api(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 65_536

        def do_GET(self) -> None:
            job = function.jobs.get()
            if job is None:
                self._reply(410, b"")
                return
            request_id, event, deadline = job
            self._reply(
                200,
                event,
                {
                    "Content-Type": "application/json",  # without it the client crashes
                    "Lambda-Runtime-Aws-Request-Id": request_id,
                    "Lambda-Runtime-Deadline-Ms": str(deadline),
                    "Lambda-Runtime-Invoked-Function-Arn": ARN,
                    "Lambda-Runtime-Trace-Id": "Root=1-00000000-000000000000000000000000",
                },
            )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
            parts = self.path.split("/")
            function.ended.put(("init_error" if parts[3] == "init" else parts[5], body))
            self._reply(202, b"{}")

        def _reply(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = Quiet(("127.0.0.1", 0), Api)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    environment = {
        "PATH": str(python.parent),
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{server.server_port}",
        "_HANDLER": handler,
        "LAMBDA_TASK_ROOT": str(asset),
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_LAMBDA_FUNCTION_NAME": "f",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_LAMBDA_LOG_GROUP_NAME": "f",
        "AWS_LAMBDA_LOG_STREAM_NAME": "f",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TZ": ":UTC",
        **variables,
    }
    process = subprocess.Popen(
        [str(python), "-m", "awslambdaric", handler],
        cwd=asset,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    function = Function(process, time.monotonic(), timeout)
    assert process.stdout is not None
    reader = threading.Thread(target=lambda out=process.stdout: function.log.extend(out), daemon=True)
    reader.start()
    try:
        yield function
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        function.jobs.put(None)
        server.shutdown()
        thread.join()
        server.server_close()
