"""`serve`: the HTTP contract on a port, the schedule beside it, until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from typing import Any
from uuid import uuid4

import click

from runtime.api import Api, Secrets
from runtime.cli.asgi import App
from runtime.cli.live import LiveDoor
from runtime.cli.session import Session, open_and_run
from runtime.dispatch import tick
from runtime.errors import InputError
from runtime.live import MAX_MESSAGE_BYTES
from runtime.local import run_schedule
from runtime.ports import World


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=8321, show_default=True)
@click.option(
    "--every", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Seconds between two ticks."
)
@click.option("--no-schedule", is_flag=True, help="Answer requests only; the cron call starts ticks.")
@click.pass_obj
def serve(session: Session, host: str, port: int, every: float, no_schedule: bool) -> None:
    """Answer the HTTP contract and live crawls, serve the published files, and run the schedule.

    The API key and the cron secret come from the environment: LLMS_API_KEY and LLMS_CRON_SECRET. Without them the calls
    that need them are refused; the webhook and the files work.
    """
    secrets = Secrets(cron=_from_environment("LLMS_CRON_SECRET"), api_keys=_from_environment("LLMS_API_KEY"))

    async def work(world: World) -> None:
        await _serve(world, secrets, host, port, None if no_schedule else every)

    open_and_run(session, work)


async def _serve(world: World, secrets: Secrets, host: str, port: int, every: float | None) -> None:
    import uvicorn

    async def current() -> Secrets:
        return secrets

    async def start_tick() -> int:
        return (await tick(world, tick_id=str(uuid4()))).total

    sockets = bound(host, port)
    stop = asyncio.Event()
    door = LiveDoor(world, current)
    config = uvicorn.Config(
        App(Api(world, current, start_tick), door),
        host=host,
        port=port,
        log_level="warning",
        lifespan="off",  # there is nothing to start, and a Ctrl-C in the middle of it would be told as a fault
        ws="websockets-sansio",
        ws_max_size=4 * MAX_MESSAGE_BYTES,
    )
    server = uvicorn.Server(config)
    click.echo(f"serving http://{host}:{port}  (Ctrl-C ends)", err=True)
    schedule = asyncio.create_task(
        run_schedule(world, every_seconds=every or float("inf"), stop=stop, first_tick=every is not None)
    )
    try:
        await server.serve(sockets=sockets)
    finally:
        stop.set()
        await door.finish()
        await schedule


def bound(host: str, port: int) -> list[socket.socket]:
    """Sockets on every address of the host: a name may have one of each family, of which a machine may lack one.

    :raises InputError: the address is not ours, or the port is taken or not for this user.
    """
    sockets: list[socket.socket] = []
    absent: OSError | None = None
    try:
        for family, kind, protocol, _, address in dict.fromkeys(_addresses(host, port)):
            made = socket.socket(family, kind, protocol)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family is socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sockets.append(made)
            try:
                made.bind(address)
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                sockets.pop().close()
                absent = error
        if not sockets and absent is not None:
            raise absent
    except (OSError, UnicodeError) as error:
        for made in sockets:
            made.close()
        raise _unusable(host, port, error) from None
    return sockets


def _addresses(host: str, port: int) -> list[tuple[Any, ...]]:
    return socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)


def _unusable(host: str, port: int, error: OSError | UnicodeError) -> InputError:
    match getattr(error, "errno", None):
        case errno.EADDRINUSE:
            return InputError(
                "--port", f"{port} is in use by another program on {host}: stop it, or choose another port"
            )
        case errno.EACCES | errno.EPERM:
            return InputError("--port", f"{port} is not for this user: choose one from 1024 on")
        case _:
            return InputError(
                "--host", f"{host[:100]} is no address of this machine: use 127.0.0.1, or 0.0.0.0 for all"
            )


def _from_environment(name: str) -> tuple[str, ...]:
    """The current value, and during a rotation the previous one after a comma."""
    return tuple(part for part in os.environ.get(name, "").split(",") if part)


COMMANDS = (serve,)
