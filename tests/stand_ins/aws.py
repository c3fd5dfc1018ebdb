"""AWS on loopback: what comes over the wire is answered by moto, as it would be in the process.

For clients that are not boto3's, which moto does not see. Use it inside `mock_aws`; both share what moto remembers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import BotocoreStubber

SCOPE = re.compile(r"Credential=[^/]+/[0-9]{8}/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")


class Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65_536

    def log_message(self, *_: object) -> None:
        """A test says what is wrong."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        scope = SCOPE.search(self.headers["Authorization"])
        assert scope is not None
        url = f"https://{scope['service']}.{scope['region']}.amazonaws.com{self.path}"
        headers = HTTPHeaders.from_dict(dict(self.headers.items()))
        answer = BotocoreStubber().process_request(AWSPreparedRequest("POST", url, headers, body, False))
        assert answer is not None
        status, given, content = answer
        raw = content.encode() if isinstance(content, str) else content
        self.send_response(int(status))
        for name, value in given.items():
            if name.lower() not in ("content-length", "date", "server"):
                self.send_header(name, str(value))
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@contextmanager
def running_aws() -> Iterator[str]:
    """The URL of the server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
