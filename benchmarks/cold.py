"""Cold starts of the built asset under awslambdaric: process start, init, first answer.

The Runtime API is this process; so are Secrets Manager, SQS, S3 and PostgREST, each an answer from a table. What is
measured is what a new Lambda environment has to do on its own CPU.
"""

from __future__ import annotations

import json
import os
import queue
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.process import ChildFailed
from runtime import environment as env

ARN = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:"
SITE_ID = "11111111-2222-4333-8444-555555555555"
WEBHOOK_SECRET = "whsec_bWFkZSB1cCBmb3IgdGhlIGJlbmNobWFyaw"  # noqa: S105 - made up
ROW: dict[str, Any] = {}


@dataclass(frozen=True)
class Cold:
    """Milliseconds since the process was started: until it asks for work, and until the first answer is there.

    `init_cpu` and `cpu` are what the process used until then, `megabytes` its resident memory.
    """

    init: float
    answered: float
    init_cpu: float
    cpu: float
    megabytes: float
    answer: Any


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A function that was measured is killed in the middle of its next poll."""


class Services:
    """The world of one function: the Runtime API and, on the same port, everything that it calls."""

    def __init__(self) -> None:
        self.work: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self.asked: queue.Queue[float] = queue.Queue()
        self.answers: queue.Queue[tuple[float, Any]] = queue.Queue()
        self.calls: list[str] = []
        self.messages = 0
        outer = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 65_536

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
                del format, args

            def do_GET(self) -> None:
                if self.path.endswith("/invocation/next"):
                    outer.asked.put(time.perf_counter())
                    identity, event = outer.work.get()
                    deadline = str(int((time.time() + 60) * 1000))
                    self._send(
                        200,
                        event,
                        {
                            "Lambda-Runtime-Aws-Request-Id": identity,
                            "Lambda-Runtime-Deadline-Ms": deadline,
                            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-west-1:123456789012:function:f",
                        },
                    )
                else:
                    outer.calls.append(f"GET {self.path}")
                    self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", {"Content-Type": "application/xml"})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if "/runtime/" in self.path:
                    outer.answers.put((time.perf_counter(), json.loads(body or b"null")))
                    self._send(202, b"{}", {})
                    return
                target = self.headers.get("X-Amz-Target", "")
                outer.calls.append(target or self.path)
                self._send(200, json.dumps(outer.reply(target, self.path, json.loads(body or b"{}"))).encode(), {})

            def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.server = Server(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reply(self, target: str, path: str, sent: dict[str, Any]) -> Any:
        if target.endswith("GetSecretValue"):
            name = sent["SecretId"].rpartition(":")[2]
            text = json.dumps({"url": self.url, "key": "sb_secret_x"}) if name == "supabase" else "made-up"
            return {"ARN": sent["SecretId"], "Name": name, "SecretString": text, "VersionId": "1" * 32}
        if target.endswith("SendMessageBatch"):
            self.messages += len(sent["Entries"])
            return {"Successful": [{"Id": entry["Id"], "MessageId": "1"} for entry in sent["Entries"]], "Failed": []}
        if path.endswith("/find_site"):
            return self.row()
        if path.endswith("/request_recrawl"):
            when = "2026-12-02T10:00:00+00:00"
            return {"next_crawl_at": when, "accepted": True, "run_at": when, "replayed": False}
        if path.endswith("/due_summary"):
            return {"due": 0, "over_budget": 0, "overdue": 0, "oldest_due_at": None, "stale": 0}
        if path.endswith("/check_schema"):
            return {"missing": [], "open": [], "version": 1_000, "now": "2026-12-02T10:00:00+00:00"}
        return [] if path.endswith(("/claim_due_sites", "/tick_outcomes")) else None

    def row(self) -> dict[str, Any]:
        """A row as PostgREST gives it; from the SQLite store's columns, so that it has all of them."""
        if not ROW:
            ROW.update(made_row())
        return ROW


def made_row() -> dict[str, Any]:
    import dataclasses
    from datetime import datetime

    from runtime.models import Site, SiteOptions

    site = Site(
        id=SITE_ID,
        base_url="https://docs.example.com",
        options=SiteOptions(),
        webhook_secret=WEBHOOK_SECRET,
    )
    values = {**dataclasses.asdict(site), **dataclasses.asdict(site.options)}
    values.pop("options")
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def environment(services: Services, asset: Path, handler: str) -> dict[str, str]:
    names = {
        env.STAGE: "bench",
        env.SUPABASE_SECRET_ARN: f"{ARN}supabase",
        env.CRON_SECRET_ARN: f"{ARN}cron",
        env.API_KEY_SECRET_ARN: f"{ARN}api",
        env.QUEUE_URL: f"{services.url}/123456789012/work",
        env.STATE_BUCKET: "state",
        env.PUBLIC_BUCKET: "public",
        env.PUBLIC_BASE_URL: "https://files.example.org",
        "AWS_LAMBDA_RUNTIME_API": services.url.removeprefix("http://"),
        "AWS_ENDPOINT_URL": services.url,
        "AWS_LAMBDA_FUNCTION_NAME": "f",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_LAMBDA_LOG_GROUP_NAME": "g",
        "AWS_LAMBDA_LOG_STREAM_NAME": "s",
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "LAMBDA_TASK_ROOT": str(asset),
        "_HANDLER": handler,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(asset),
    }
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **names}


def start(services: Services, python: Path, asset: Path, handler: str, event: Any) -> Cold:
    """One cold start: a new process, one event, its answer."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(python), "-m", "awslambdaric", handler],
        cwd=asset,
        env=environment(services, asset, handler),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    answer: Any = None
    try:
        asked = services.asked.get(timeout=30)
        init_cpu = cpu_ms(process.pid)
        services.work.put(("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", json.dumps(event).encode()))
        answered, answer = services.answers.get(timeout=30)
        statm = Path(f"/proc/{process.pid}/statm").read_text().split()
        cpu = cpu_ms(process.pid)
        megabytes = int(statm[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except queue.Empty:
        answer = {"errorType": "no answer within 30 s"}
    finally:
        process.kill()
        output = process.communicate()[0]
    if isinstance(answer, dict) and "errorType" in answer:
        raise ChildFailed(f"{handler}: {answer} {output.decode()[-600:]}")
    return Cold((asked - began) * 1000, (answered - began) * 1000, init_cpu, cpu, megabytes, answer)


def cpu_ms(pid: int) -> float:
    """What the threads of a process have used so far; the scheduler counts nanoseconds."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


def webhook_event() -> dict[str, Any]:
    body = {"base_url": "https://docs.example.com", "webhook_secret": WEBHOOK_SECRET}
    return http_event("POST", "/internal/hooks/site-changed", json.dumps(body))


def http_event(method: str, path: str, body: str = "") -> dict[str, Any]:
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "requestContext": {"http": {"method": method, "path": path}, "requestId": "r-1"},
        "body": body,
        "isBase64Encoded": False,
    }


def cron_event() -> dict[str, Any]:
    return {"httpMethod": "POST", "path": "/internal/cron/recrawl", "headers": {"X-Cron-Secret": "made-up"}}


CASES: dict[str, tuple[str, Any]] = {
    "empty": ("empty.handler", {}),
    "webhook": ("runtime.handlers.webhook.handler", webhook_event()),
    "cron": ("runtime.handlers.cron.handler", cron_event()),
    "worker": ("runtime.handlers.worker.handler", {"Records": []}),
}


@contextmanager
def running() -> Iterator[Services]:
    services = Services()
    try:
        yield services
    finally:
        services.server.shutdown()
        services.server.server_close()


def measure(python: Path, asset: Path, *, rounds: int = 5) -> dict[str, Cold]:
    """Medians of cold starts, the cases in turn so that a busy moment hits all of them."""
    (asset / "empty.py").write_text("def handler(event, context):\n    return {}\n")
    found: dict[str, list[Cold]] = {name: [] for name in CASES}
    for _ in range(rounds + 1):
        for name, (handler, event) in CASES.items():
            with running() as services:  # anew: the last process may have died within a poll
                found[name].append(start(services, python, asset, handler, event))
    return {name: middle(runs[1:]) for name, runs in found.items()}  # the first round warms the disk


def middle(runs: list[Cold]) -> Cold:
    def of(field: str) -> float:
        return float(statistics.median(getattr(run, field) for run in runs))

    return Cold(of("init"), of("answered"), of("init_cpu"), of("cpu"), of("megabytes"), runs[0].answer)
