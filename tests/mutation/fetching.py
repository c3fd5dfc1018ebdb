"""What is fetched, and how much of it is believed."""

from __future__ import annotations

from tests.mutation.workshop import Mutant

_PIPELINE = ("tests/runtime/pipeline/test_outcomes.py",)
_FETCH = ("tests/runtime/web/test_fetch.py", "tests/runtime/web/test_ssrf_rows.py")
_WIRE = ("tests/runtime/web/test_transport.py",)
_HOSTILE = ("tests/runtime/web/test_hostile.py",)
_DECODE = ("tests/runtime/web/test_decode.py",)

MUTANTS = (
    # -- the fetch gate
    Mutant(
        "the pin",
        "runtime/web/transport.py",
        "sock = await self._dial(address, target.port)",
        "sock = await self._dial(target.host, target.port)",
        (*_FETCH, *_WIRE),
    ),
    Mutant(
        "the look at who answered the connection",
        "runtime/web/transport.py",
        "if ip_address(peer) != ip_address(address) or peer_port != port:",
        "if False:",
        _WIRE,
    ),
    Mutant(
        "the name that TLS is checked against",
        "runtime/web/transport.py",
        "server_hostname=target.host if secure else None",
        "server_hostname=sock.getpeername()[0] if secure else None",
        _WIRE,
    ),
    Mutant(
        "the judgement of a name's addresses",
        "runtime/web/fetch.py",
        "        check_addresses(target, addresses, self._policy)\n",
        "",
        _FETCH,
    ),
    Mutant(
        "the redirect check",
        "runtime/web/fetch.py",
        "        check_addresses(target, addresses, self._policy)\n",
        "        if not redirected:\n            check_addresses(target, addresses, self._policy)\n",
        _FETCH,
    ),
    Mutant(
        "the judgement of every address, not just the first",
        "runtime/web/gate.py",
        "    for address in addresses:\n",
        "    for address in addresses[:1]:\n",
        (*_FETCH, "tests/runtime/web/test_gate.py"),
    ),
    Mutant(
        "the robots rules on the way of a redirect",
        "runtime/web/fetch.py",
        "if may_visit is not None and (reason",
        "if may_visit is not None and not hops and (reason",
        _FETCH,
    ),
    Mutant(
        "the new look-up of where a redirect leads",
        "runtime/web/names.py",
        "if not anew and clock() < expires:",
        "if clock() < expires:",
        _FETCH,
    ),
    Mutant(
        "the refusal of a backslash",
        "runtime/web/gate.py",
        '    if "\\\\" in url:\n',
        "    if False:\n",
        (*_FETCH, "tests/runtime/web/test_gate.py"),
    ),
    # -- hostile content
    Mutant(
        "the output cap",
        "runtime/web/decode.py",
        "            data, self.full = data[:room], True\n",
        "            self.full = True\n",
        _DECODE,
    ),
    Mutant(
        "the output cap of one step of inflation",
        "runtime/web/decode.py",
        "self._inflater.pull(min(PIECE, self._limit - self._size + 1))",
        "self._inflater.pull(1 << 30)",
        _DECODE,
    ),
    Mutant(
        "the refusal of a coding that was not offered",
        "runtime/web/decode.py",
        "if len(named) > 1 or named[0] not in _CODINGS:",
        "if named[0] not in _CODINGS:",
        _DECODE,
    ),
    Mutant(
        "the total deadline of a request",
        "runtime/web/fetch.py",
        "due = Deadlines(end, now +",
        "due = Deadlines(now + 3_600, now +",
        _HOSTILE,
    ),
    Mutant(
        "the least flow of a body",
        "runtime/web/connection.py",
        "if self._received - self._flow_mark < due.rate_bytes and not self._paused:",
        "if False:",
        _HOSTILE,
    ),
    Mutant(
        "the total deadline over redirects",
        "runtime/web/fetch.py",
        "            left -= clock() - started\n",
        "",
        (*_FETCH, *_HOSTILE),
    ),
    Mutant(
        "the total deadline of a site",
        "runtime/recrawl.py",
        "    deadline = limit if deadline is None else min(deadline, limit)\n",
        "    deadline = started + 36_000.0\n",
        ("tests/faults/test_rows_site.py", *_PIPELINE),
    ),
    Mutant(
        "the DOCTYPE refusal",
        "runtime/sitemap/xml.py",
        "        parser.StartDoctypeDeclHandler = self._doctype\n",
        "",
        ("tests/runtime/sitemap/test_parse.py", *_HOSTILE),
    ),
    Mutant(
        "the patience with a robots.txt that fails",
        "runtime/crawl/access.py",
        "if status in (304, 429) or status >= 500:",
        "if False:",
        ("tests/runtime/crawl/test_robots_access.py",),
    ),
)
