"""A real S3-compatible server (SeaweedFS, from its wheel) on loopback, for tests of everything that needs a bucket.

`s3_server` is a session fixture; import it into a conftest. It checks signatures and honours conditional writes.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runtime.publish.s3 import make_client

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

ACCESS_KEY_ID, SECRET_ACCESS_KEY = "stand-in-key", "stand-in-secret"
READ_ONLY_KEY_ID, READ_ONLY_SECRET = "reader-key", "reader-secret"
START_SECONDS = 30.0

PORTS = (
    "s3.port", "s3.port.grpc", "master.port", "master.port.grpc",
    "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server. `started_in` is how many seconds it took until an object could be written."""

    endpoint_url: str
    process: subprocess.Popen[bytes]
    ports: tuple[int, ...]
    started_in: float = 0.0

    def client(self) -> S3Client:
        return make_client(
            endpoint_url=self.endpoint_url, access_key_id=ACCESS_KEY_ID, secret_access_key=SECRET_ACCESS_KEY
        )

    def reader(self) -> S3Client:
        """A client whose keys may read and list, but not write."""
        return make_client(
            endpoint_url=self.endpoint_url, access_key_id=READ_ONLY_KEY_ID, secret_access_key=READ_ONLY_SECRET
        )

    def make_bucket(self, name: str) -> str:
        self.client().create_bucket(Bucket=name)
        return name

    def kill(self) -> None:
        """SIGKILL: after a SIGTERM the server stays in its shutdown for minutes."""
        self.process.kill()
        self.process.wait()
        for port in self.ports:
            for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                path.unlink(missing_ok=True)


def start(folder: Path) -> S3Server:
    """Start a server that keeps its data in `folder`; raises when it does not answer in time."""
    identities = [
        _identity("stand-in", ACCESS_KEY_ID, SECRET_ACCESS_KEY, ["Admin", "Read", "Write", "List", "Tagging"]),
        _identity("reader", READ_ONLY_KEY_ID, READ_ONLY_SECRET, ["Read", "List"]),
    ]
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": identities}))
    ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
    options = {
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "dir": folder,
        "s3": "true",
        "s3.config": config,
        "s3.autoCreateBucket": "false",
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.localSocket": folder / "s3.sock",
        "filer.localSocket": folder / "filer.sock",
        "volume.max": 500,
        "master.volumeSizeLimitMB": 64,
        "master.telemetry": "false",
        **ports,
    }
    weed = Path(sys.executable).with_name("weed")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*_die_with_us(), weed, "server", *(f"-{name}={value}" for name, value in options.items())],
            env={**os.environ, "WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"},  # one volume a bucket, not seven
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    started = time.monotonic()
    server = S3Server(f"http://127.0.0.1:{ports['s3.port']}", process, tuple(ports.values()))
    try:
        _wait_until_it_answers(server, started + START_SECONDS)
    except BaseException:
        server.kill()
        raise
    return replace(server, started_in=time.monotonic() - started)


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server = start(tmp_path_factory.mktemp("s3"))
    try:
        yield server
    finally:
        server.kill()


def _wait_until_it_answers(server: S3Server, deadline: float) -> None:
    """Ready means that an object can be written: the gateway listens before its volumes exist."""
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3",
        endpoint_url=server.endpoint_url,
        region_name="auto",
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_ACCESS_KEY,
        config=Config(retries={"total_max_attempts": 1}, request_checksum_calculation="when_required"),
    )
    while True:
        try:
            client.create_bucket(Bucket="ready")
            client.put_object(Bucket="ready", Key="ready", Body=b"ready")
        except Exception:  # noqa: BLE001 - any answer but success means "not yet"
            if server.process.poll() is not None:
                raise RuntimeError("the S3 server ended while starting; see its log") from None
            if time.monotonic() > deadline:
                raise RuntimeError(f"the S3 server did not answer within {START_SECONDS:g} s") from None
            time.sleep(0.1)
        else:
            return


def _die_with_us() -> list[str]:
    """Where util-linux is at hand, a killed test run takes the server with it."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def _free_ports(count: int) -> list[int]:
    """Ports that are free now; all are held until the last one is known, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _identity(name: str, key_id: str, secret: str, actions: list[str]) -> dict[str, object]:
    return {"name": name, "credentials": [{"accessKey": key_id, "secretKey": secret}], "actions": actions}
