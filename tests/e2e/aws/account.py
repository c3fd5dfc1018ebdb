"""An AWS account for a test: the emulator with TLS and IAM, a shell that reaches it, and the CDK command line."""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import httpx
import uv

from cdk import NODE

ROOT = Path(__file__).parents[3]
CLI_VERSION = "2.1148.1"
CLI_FOLDER = ROOT / "build" / "cdk-cli"
AWS_CLI, AWS_FOLDER = "awscli==1.46.3", ROOT / "build" / "aws-cli"
NUMBER, REGION = "123456789012", "eu-west-1"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The emulator runs handlers under this interpreter, so the asset is built for it."""

MACHINE = "arm64" if os.uname().machine in ("aarch64", "arm64") else "x86_64"
SYSTEM_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True, slots=True)
class Account:
    """A running emulator. `environment` is what every command needs to reach it, and nothing of the real AWS."""

    folder: Path
    port: int
    environment: Mapping[str, str]

    @property
    def checkout(self) -> Path:
        """A copy of what is deployed, so that a deploy and a diff see the same code while somebody edits it."""
        return self.folder / "checkout"

    def client(self, service: str) -> Any:
        make: Any = boto3.client  # its stub knows every service by a literal name
        return make(
            service,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            verify=self.environment["AWS_CA_BUNDLE"],
        )

    def cdk(self, *arguments: str, context: Mapping[str, str], check: bool = True) -> str:
        """Run the CDK command line as `make` does; gives what it printed."""
        given = [part for key, value in context.items() for part in ("-c", f"{key}={value}")]
        command = [str(NODE), str(cdk_command()), *arguments, "--output", str(self.folder / "cdk.out"), *given]
        done = subprocess.run(
            command,
            cwd=self.checkout,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        printed = done.stdout + done.stderr
        assert not check or done.returncode == 0, printed
        return printed

    def call(self, url: str, path: str, **options: Any) -> httpx.Response:
        """A request to a function URL: its host is a name that only the emulator knows, so it goes into the Host header."""
        host = url.removeprefix("https://").rstrip("/")
        headers = {**options.pop("headers", {}), "Host": host}
        trust = ssl.create_default_context(cafile=self.environment["AWS_CA_BUNDLE"])
        with httpx.Client(verify=trust, timeout=60, trust_env=False) as client:
            return client.request(
                options.pop("method", "GET"), f"https://127.0.0.1:{self.port}{path}", headers=headers, **options
            )


def cdk_command() -> Path:
    """The CDK command line at its pinned version, fetched from npm at first use."""
    entry = CLI_FOLDER / "node_modules" / "aws-cdk" / "bin" / "cdk"
    if not entry.exists():
        CLI_FOLDER.mkdir(parents=True, exist_ok=True)
        npm = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        subprocess.run(
            [
                NODE,
                npm,
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                CLI_FOLDER,
                f"aws-cdk@{CLI_VERSION}",
            ],
            check=True,
            timeout=300,
        )
    return entry


def aws_command() -> Path:
    """The AWS command line at its pinned version, in a folder of its own, fetched at first use."""
    entry = AWS_FOLDER / "bin" / "aws"
    if not entry.exists():
        program = uv.find_uv_bin()
        subprocess.run([program, "venv", "--quiet", "--python", sys.executable, AWS_FOLDER], check=True, timeout=60)
        command = [program, "pip", "install", "--quiet", "--python", str(AWS_FOLDER / "bin" / "python"), AWS_CLI]
        subprocess.run(command, check=True, timeout=300)
    return entry


@contextmanager
def running_account(folder: Path) -> Iterator[Account]:
    """Start the emulator in `folder` and stop it at the end."""
    for part in ("app.py", "cdk.json", "cdk", "runtime"):
        _copy(ROOT / part, folder / "checkout" / part)
    port = _free_port()
    bundle = _certificate(folder)
    clean = {key: os.environ[key] for key in ("HOME", "LANG", "TMPDIR") if key in os.environ}
    environment = {
        **clean,
        "PATH": f"{Path(sys.executable).parent}:{NODE.parent}:{os.environ['PATH']}",
        "AWS_ENDPOINT_URL": f"https://127.0.0.1:{port}",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_CA_BUNDLE": str(bundle),
        "NODE_EXTRA_CA_CERTS": str(folder / "certificate.pem"),
        "CDK_VALIDATION": "false",
        "CI": "true",
    }
    settings = {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_REGION": REGION,
        "MINISTACK_ACCOUNT_ID": NUMBER,
        "AUTH": "true",
        "USE_SSL": "1",
        "MINISTACK_SSL_CERT": str(folder / "certificate.pem"),
        "MINISTACK_SSL_KEY": str(folder / "key.pem"),
    }
    with (folder / "emulator.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.aws.emulator"],
            cwd=ROOT,
            env={**environment, **settings},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        account = Account(folder, port, environment)
        eventually(lambda: _answers(account, process), seconds=60)
        yield account
    finally:
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def eventually(found: Callable[[], Any], *, seconds: float) -> Any:
    """The first true answer of `found`; the systems behind it are real, so it is asked again and again.

    :raises AssertionError: there was none in time.
    """
    end = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        answer = found()
        if answer:
            return answer
        assert time.monotonic() < end, f"not within {seconds:g} s"
        pause.wait(0.25)


def _answers(account: Account, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, (account.folder / "emulator.log").read_text()[-2_000:]
    try:
        account.client("sts").get_caller_identity()
    except Exception:  # noqa: BLE001 - any answer but success means "not yet"
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(source, target)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _certificate(folder: Path) -> Path:
    """A certificate for loopback, and a bundle that trusts it beside the system's."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.DNSName("*.localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (folder / "certificate.pem").write_bytes(pem)
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    bundle = folder / "bundle.pem"
    system = SYSTEM_CERTIFICATES.read_bytes() if SYSTEM_CERTIFICATES.exists() else b""
    bundle.write_bytes(system + b"\n" + pem)
    return bundle


def outputs(account: Account, stack: str) -> dict[str, str]:
    """The outputs of a stack by name."""
    (found,) = account.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}


def put_secret(account: Account, arn: str, value: Mapping[str, str]) -> None:
    account.client("secretsmanager").put_secret_value(SecretId=arn, SecretString=json.dumps(value))
