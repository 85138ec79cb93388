"""A server in this process that answers as the Hugging Face Hub does, with files in memory."""

import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """The repositories of a fake Hub.

    Attributes:
        endpoint: Its address.
        files: The files of each repository, by name.
        private: Whether each repository was made private.
        requests: The method and path of every request.
    """

    def __init__(self) -> None:
        self.endpoint = ""
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.requests: list[str] = []


@contextlib.contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """Serve an empty Hub."""
    hub = FakeHub()

    class Handler(_Handler):
        store = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    store: FakeHub

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.store.requests.append(f"POST {self.path}")
        if self.path == "/api/repos/create":
            self._create(json.loads(body))
        elif match := re.fullmatch(r"/api/models/(.+)/preupload/main", self.path):
            paths = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in paths]
            self._json({"files": modes})
        elif match := re.fullmatch(r"/api/models/(.+)/commit/main", self.path):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.store.files[match[1]][line["value"]["path"]] = content
            url = f"{self.store.endpoint}/{match[1]}/commit/{COMMIT}"
            self._json({"success": True, "commitUrl": url, "commitOid": COMMIT})
        elif self.path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        else:
            self._error(404, "RepoNotFound")

    def _create(self, about: dict[str, Any]) -> None:
        name = f"{about['organization']}/{about['name']}"
        if name in self.store.files:
            self._json({"url": f"{self.store.endpoint}/{name}"}, 409)
            return
        self.store.files[name] = {}
        self.store.private[name] = bool(about.get("private")) or "private" in about.values()
        self._json({"url": f"{self.store.endpoint}/{name}"})

    def do_GET(self) -> None:
        self.store.requests.append(f"{self.command} {self.path}")
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(/revision/\w+)?", self.path):
            known = match[1] in self.store.files
            if known:
                self._json({"id": match[1], "sha": COMMIT, "siblings": []})
            else:
                self._error(404, "RepoNotFound")
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/(\w+)/(.+)", self.path):
            self._file(*match.groups())
        else:
            self._error(404, "RepoNotFound")

    do_HEAD = do_GET  # noqa: N815

    def _file(self, name: str, revision: str, path: str) -> None:
        if name not in self.store.files:
            self._error(401, "RepoNotFound")
        elif revision not in ("main", COMMIT):
            self._error(404, "RevisionNotFound")
        elif path not in self.store.files[name]:
            self._error(404, "EntryNotFound")
        else:
            data = self.store.files[name][path]
            etag = hashlib.sha256(data).hexdigest()
            self._answer(200, data, {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"'})

    def _json(self, value: Any, status: int = 200) -> None:
        self._answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _error(self, status: int, code: str) -> None:
        self._answer(status, b"{}", {"X-Error-Code": code, "X-Repo-Commit": COMMIT})

    def _answer(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
