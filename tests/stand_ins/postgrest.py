"""The part of PostgREST that the product uses, in front of a real PostgreSQL: calls of functions, and nothing else.

What it does, it does as PostgREST does: the role comes from the JWT and is set with SET LOCAL, so that grants and row
level security are real; arguments are named, and cast by `json_to_record`; a function that is not VOLATILE runs in a
read-only transaction; statuses and error bodies are those of https://docs.postgrest.org/en/v14/references/errors.html.
In front of it sits Supabase's gateway, which wants a known `apikey`.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, LiteralString, cast

import jwt
import psycopg
from psycopg import sql

SECRET = "a-jwt-secret-of-at-least-32-characters"
POOL = 16

STATUSES = {
    "23503": 409, "23505": 409, "25006": 405, "42883": 404, "42P01": 404, "42P17": 500, "53400": 500, "57P01": 503,
    "P0001": 400,
}  # fmt: skip
CLASSES = {
    "08": 503, "09": 500, "0L": 403, "0P": 403, "25": 500, "28": 403, "2D": 500, "38": 500, "39": 500, "3B": 500,
    "40": 500, "53": 503, "54": 500, "55": 500, "57": 500, "58": 500, "F0": 500, "HV": 500, "P0": 500, "XX": 500,
}  # fmt: skip

CANDIDATES = """
SELECT p.oid, p.provolatile, p.pronargdefaults, coalesce(p.proargnames, '{}'),
       ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t)
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname = %s AND p.prorettype <> 'trigger'::regtype
"""


def token(role: str, *, secret: str = SECRET, expires_in: float = 3600) -> str:
    """A key as Supabase makes them: a JWT that names a database role."""
    return jwt.encode({"role": role, "iss": "supabase", "exp": int(time.time() + expires_in)}, secret, "HS256")


class Refusal(Exception):
    def __init__(self, status: int, code: str | None, message: str, details: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, str | None] = {"code": code, "details": details, "hint": None, "message": message}


def status_of(code: str, *, authenticated: bool) -> int:
    if code == "42501":
        return 403 if authenticated else 401
    if code.startswith("PT") and code[2:].isdigit():
        return int(code[2:])
    return STATUSES.get(code) or CLASSES.get(code[:2], 400)


def claims_of(authorization: str) -> dict[str, Any]:
    kind, _, bearer = authorization.partition(" ")
    if kind.lower() != "bearer" or not bearer:
        return {"role": "anon"}
    try:
        return {"role": "anon", **jwt.decode(bearer, SECRET, algorithms=["HS256"], options={"verify_aud": False})}
    except jwt.ExpiredSignatureError:
        raise Refusal(401, "PGRST303", "JWT expired") from None
    except jwt.InvalidSignatureError:
        raise Refusal(401, "PGRST301", "No suitable key or wrong key type") from None
    except jwt.PyJWTError:
        raise Refusal(401, "PGRST301", "Expected 3 parts in JWT; got 1") from None


class Pool:
    """Connections as `authenticator`, opened when they are needed."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._free: queue.LifoQueue[psycopg.Connection] = queue.LifoQueue()
        self._places = threading.BoundedSemaphore(POOL)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        if not self._places.acquire(timeout=10):
            raise Refusal(504, "PGRST003", "Timed out acquiring connection from connection pool.")
        try:
            try:
                connection = self._free.get_nowait()
            except queue.Empty:
                connection = self._connect()
            try:
                yield connection
            finally:
                if connection.broken:
                    connection.close()
                else:
                    self._free.put(connection)
        finally:
            self._places.release()

    def _connect(self) -> psycopg.Connection:
        try:
            return psycopg.connect(self._uri, autocommit=True, prepare_threshold=5)
        except psycopg.OperationalError as down:
            raise Refusal(503, "PGRST000", "Database connection error. Retrying the connection.", str(down)) from None

    def close(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._free.get_nowait().close()


def call(connection: psycopg.Connection, name: str, body: bytes, claims: dict[str, Any], *, read_only: bool) -> str:
    """The JSON text of a call, in one transaction as the role of the claims."""
    try:
        given = json.loads(body or b"{}")
    except ValueError:
        raise Refusal(400, "PGRST102", "Empty or invalid json") from None
    oid, volatile, types = chosen(connection, name, given)
    with connection.transaction():
        if read_only or volatile != "v":
            connection.execute("SET TRANSACTION READ ONLY")
        connection.execute(
            "SELECT set_config('role', %s, true), set_config('request.jwt.claims', %s, true),"
            " set_config('search_path', 'public, extensions', true)",
            (claims["role"], json.dumps(claims)),
        )
        function = sql.Identifier("public", name)
        named = [sql.SQL("{0} := body.{0}").format(sql.Identifier(key)) for key in given]
        typed = [sql.SQL("{} {}").format(sql.Identifier(key), sql.SQL(types[key])) for key in given]
        source: sql.Composable = sql.SQL("(SELECT) body")
        if given:
            source = sql.SQL("json_to_record(%s::json) AS body({})").format(sql.SQL(", ").join(typed))
        query = sql.SQL(
            "SELECT coalesce((json_agg(answer.scalar) -> 0)::text, 'null') FROM (SELECT {}({}) AS scalar FROM {}) answer"
        ).format(function, sql.SQL(", ").join(named), source)
        row = connection.execute(query, (body.decode(),) if given else ()).fetchone()
    assert row is not None, oid
    return str(row[0])


def chosen(
    connection: psycopg.Connection, name: str, given: Mapping[str, object]
) -> tuple[int, str, dict[str, LiteralString]]:
    """The function that takes these arguments: all it needs, and none it does not know."""
    for oid, volatile, defaults, names, types in connection.execute(CANDIDATES, (name,)):
        needed = names[: len(types) - defaults]
        if set(needed) <= given.keys() <= set(names):
            return oid, volatile, dict(zip(names, cast("list[LiteralString]", types), strict=True))
    arguments = ", ".join(given)
    shown = f"({arguments})" if given else " without parameters"
    raise Refusal(
        404,
        "PGRST202",
        f"Could not find the function public.{name}{shown} in the schema cache",
        f"Searched for the function public.{name} with parameters {arguments} or with a single unnamed json/jsonb "
        "parameter, but no matches were found in the schema cache.",
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536
    server: PostgrestServer

    def log_message(self, *_args: object) -> None:
        """Tests read answers, not a log."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        authenticated = False
        try:
            name = self.server.gateway(self.path, self.headers.get("apikey"))
            claims = claims_of(self.headers.get("Authorization", ""))
            authenticated = claims["role"] != "anon"
            with self.server.pool.connection() as connection:
                answer = call(connection, name, body, claims, read_only=self.server.read_only)
            self.answer(200, answer)
        except Refusal as refusal:
            shown = refusal.body if refusal.body["code"] else {"message": str(refusal)}
            self.answer(refusal.status, json.dumps(shown))
        except psycopg.Error as error:
            code, diagnosis = error.sqlstate or "57P01", error.diag
            shown = {
                "code": code,
                "details": diagnosis.message_detail,
                "hint": diagnosis.message_hint,
                "message": diagnosis.message_primary,
            }
            self.answer(status_of(code, authenticated=authenticated), json.dumps(shown))

    def answer(self, status: int, body: str) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(content)
            self.wfile.flush()


class PostgrestServer(ThreadingHTTPServer):
    """`read_only` makes the database refuse to write, as a full disk or a standby does."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, uri: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pool = Pool(uri)
        self.read_only = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def gateway(self, path: str, apikey: str | None) -> str:
        """The function that is called, if the gateway lets the call through."""
        prefix, _, name = path.partition("?")[0].rpartition("/")
        if not apikey:
            raise Refusal(401, None, "No API key found in request")
        if prefix != "/rest/v1/rpc":
            raise Refusal(404, "PGRST125", "Invalid path specified in request URL")
        return name

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed hangs up in the middle; everything else is a fault of this stand-in."""
        import sys

        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def running_postgrest(uri: str) -> Iterator[PostgrestServer]:
    """Serve the database at `uri`, which must log in as `authenticator`."""
    server = PostgrestServer(uri)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        server.pool.close()
