"""A registry of npm on this machine."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def npm_registry(packages: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the URL of a registry with version 1.0.0 of each package and its declared fields."""
    manifests = {
        name: {"name": name, "version": "1.0.0", **more} for name, more in packages.items()
    }
    archives = {name: _archive(manifest) for name, manifest in manifests.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, _, archive = self.path.strip("/").partition("/-/")
            if name not in manifests:
                self.send_error(404)
                return
            body = archives[name] if archive else _document(manifests[name], archives[name], host)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"{host}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _archive(manifest: Mapping[str, Any]) -> bytes:
    data, buffer = json.dumps(manifest).encode(), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _document(manifest: Mapping[str, Any], archive: bytes, host: str) -> bytes:
    name = manifest["name"]
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    dist = {"tarball": f"{host}/{name}/-/{name}-1.0.0.tgz", "integrity": integrity}
    versions = {"1.0.0": {**manifest, "dist": dist}}
    document = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    return json.dumps(document).encode()
