"""A proxy in front of an S3 server that loses acknowledgements and answers with errors."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Action = Literal["pass", "lose", "503", "403", "409", "gone"]
"""``lose``: the server gets the request, and the client no answer. ``gone``: the connection is closed before."""


@dataclass
class Proxy:
    """A proxy that runs. ``rule``: what becomes of a request, from its method and its path with the query."""

    target: int
    port: int = 0
    rule: Callable[[str, str], Action] = lambda method, path: "pass"
    guard: threading.Lock = field(default_factory=threading.Lock)


class _Handler(BaseHTTPRequestHandler):
    """Of HTTP/1.0: a connection ends with its answer, or without one."""

    server: Any

    def log_message(self, *arguments: Any) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def _forward(self) -> None:
        proxy: Proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with proxy.guard:
            action = proxy.rule(self.command, self.path)
        if action in ("503", "403", "409"):
            self.send_response_only(int(action))
            self.end_headers()
        if action not in ("pass", "lose"):
            return
        with closing(http.client.HTTPConnection("127.0.0.1", proxy.target, timeout=60)) as connection:
            connection.request(self.command, self.path, body or None, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
        if action == "pass":
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward  # noqa: N815  # names of the base class


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that is killed leaves its connections


@contextmanager
def proxying(target: int) -> Iterator[Proxy]:
    """A proxy in front of the server at a port."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        proxy = Proxy(target, server.server_address[1])
        server.proxy = proxy  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
