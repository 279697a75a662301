"""A model hub on loopback: lists and serves folders as the real one does, resumes, and can break off."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE_FROM = 1_000  # bytes; larger files are listed with their sha256, as those in LFS are


class TinyHub:
    """Serves `root/org/name/**`; the commit of a model is a hash of its files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.break_after: int | None = None  # bytes of the next large file
        self.private: dict[str, str] = {}  # names of models that want this token
        self.corrupt: set[str] = set()  # paths whose content is changed on the way
        self.requests: list[tuple[str, str, str]] = []  # method, path, range
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def commit(self, name: str) -> str:
        content = hashlib.sha1()
        for path in self.paths(name):
            content.update(path.encode() + (self.root / name / path).read_bytes())
        return content.hexdigest()

    def paths(self, name: str) -> list[str]:
        folder = self.root / name
        return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())

    def describe(self, name: str) -> dict[str, Any]:
        siblings: list[dict[str, Any]] = []
        for path in self.paths(name):
            content = (self.root / name / path).read_bytes()
            blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
            entry: dict[str, Any] = {"rfilename": path, "size": len(content), "blobId": blob}
            if len(content) >= LARGE_FROM:
                entry["lfs"] = {
                    "sha256": hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                    "pointerSize": 130,
                }
            siblings.append(entry)
        return {
            "id": name,
            "sha": self.commit(name),
            "siblings": siblings,
            "cardData": {"license": "mit"},
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> TinyHub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _make_handler(hub: TinyHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.requests.append((self.command, path, self.headers.get("Range") or ""))
            if path.startswith("/api/models/"):
                name, _, revision = path.removeprefix("/api/models/").partition("/revision/")
                self.describe(name, revision or "main")
            else:
                name, _, rest = path.removeprefix("/").partition("/resolve/")
                self.serve(name, rest.partition("/")[2])

        def describe(self, name: str, revision: str) -> None:
            if not (hub.root / name).is_dir() or not self.is_allowed(name):
                return self.refuse("RepoNotFound")
            if revision not in ("main", hub.commit(name)):
                return self.refuse("RevisionNotFound")
            return self.reply(200, json.dumps(hub.describe(name)).encode())

        def is_allowed(self, name: str) -> bool:
            token = hub.private.get(name)
            return token is None or self.headers.get("Authorization") == f"Bearer {token}"

        def serve(self, name: str, path: str) -> None:
            file = hub.root / name / path
            if not file.is_file() or not self.is_allowed(name):
                return self.refuse("EntryNotFound")
            content = file.read_bytes()
            if path in hub.corrupt:
                content = bytes([content[0] ^ 1]) + content[1:]
            start = 0
            if span := self.headers.get("Range"):
                start = int(span.removeprefix("bytes=").rstrip("-"))
            limit = None
            if hub.break_after is not None and len(content) >= LARGE_FROM:
                limit = hub.break_after
                hub.break_after = None
            return self.reply(206 if start else 200, content[start:], limit)

        def refuse(self, code: str) -> None:
            self.reply(404, b"{}", None, code)

        def reply(
            self, status: int, content: bytes, limit: int | None = None, code: str = ""
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Type", "application/json")
            if code:
                self.send_header("X-Error-Code", code)
            self.end_headers()
            self.wfile.write(content if limit is None else content[:limit])
            if limit is not None:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
