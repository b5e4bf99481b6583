"""The browser client as the relay serves it: files as they are, and pages that pin their scripts.

A page may run the modules of this folder and nothing else: the Content-Security-Policy names the
hash of each, not an origin. The hash of the first module is in its element; those of the modules
that it imports are in an import map, whose own hash is in the policy, and in preload links.
"""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from aiohttp import web

from pi.base.records import Record

WEB: Final = Path(__file__).parent / "web"
_MODULE: Final = re.compile(r'<script type="module" src="(?P<folder>(?:\.\./)*)(?P<name>[\w.]+)">')
_IMPORT: Final = re.compile(r'^(?:import|export)\b.*\bfrom "\./([\w.]+)";', re.MULTILINE)
POLICY: Final = (
    "default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY.format(scripts="'none'"),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of all responses except pages with scripts."""
NO_WEB = """\
This is a relay of pi. It forwards sealed frames of shared sessions and cannot read them.
Join a session from a terminal: pi join LINK
"""


class WebFile(Record):
    """A file of the browser client, with the headers of its answer."""

    body: bytes
    kind: str
    headers: Mapping[str, str]


def web_files(folder: Path = WEB) -> dict[str, WebFile]:
    """The files of the browser client by their names; none if it was not built in."""
    if not folder.is_dir():
        return {}
    files = {
        path.name: WebFile(
            body=path.read_bytes(),
            kind=mimetypes.guess_type(path.name)[0] or "text/plain",
            headers=HEADERS,
        )
        for path in sorted(folder.iterdir())
        if path.is_file() and path.suffix != ".py"
    }
    for name in files:
        if name.endswith(".html"):
            files[name] = _page(files[name], files)
    return files


def sha256(data: bytes) -> str:
    """The hash of ``data`` in the form of policies and ``integrity`` attributes."""
    return "sha256-" + base64.b64encode(hashlib.sha256(data).digest()).decode()


def _page(page: WebFile, files: Mapping[str, WebFile]) -> WebFile:
    text = page.body.decode()
    module = _MODULE.search(text)
    if module is None:
        return page
    hashes = {name: sha256(files[name].body) for name in _imported(module["name"], files)}
    # Relative, as the script is: a proxy may serve the relay below another path.
    folder = module["folder"] or "./"
    pinned = json.dumps({"integrity": {folder + name: hash for name, hash in hashes.items()}})
    scripts = [
        f'<script type="importmap">{pinned}</script>',
        # For browsers without hashes in import maps; and so that all modules load at once.
        *(
            f'<link rel="modulepreload" href="{folder}{name}" integrity="{hash}">'
            for name, hash in hashes.items()
        ),
        f'<script type="module" src="{folder}{module["name"]}"'
        f' integrity="{hashes[module["name"]]}">',
    ]
    allowed = " ".join(f"'{source}'" for source in (sha256(pinned.encode()), *hashes.values()))
    return WebFile(
        body=(text[: module.start()] + "\n".join(scripts) + text[module.end() :]).encode(),
        kind=page.kind,
        headers={**HEADERS, "Content-Security-Policy": POLICY.format(scripts=allowed)},
    )


def _imported(name: str, files: Mapping[str, WebFile]) -> list[str]:
    """The module and all that it imports."""
    modules = [name]
    for module in modules:  # it grows meanwhile
        names = _IMPORT.findall(files[module].body.decode())
        modules += [other for other in dict.fromkeys(names) if other not in modules]
    return modules


class Pages:
    """Serves the files of the browser client."""

    def __init__(self) -> None:
        self.files = web_files()

    def table(self) -> list[web.RouteDef]:
        """The routes."""
        return [web.get("/", self._start), web.get("/{file}", self._file)]

    def response(self, name: str) -> web.Response | None:
        """The answer with a file; ``None`` if there is no such file."""
        if (web_file := self.files.get(name)) is None:
            return None
        return web.Response(
            body=web_file.body,
            content_type=web_file.kind,
            charset="utf-8",
            headers=web_file.headers,
        )

    async def _start(self, request: web.Request) -> web.Response:
        return self.response("index.html") or web.Response(text=NO_WEB, headers=HEADERS)

    async def _file(self, request: web.Request) -> web.Response:
        if (response := self.response(request.match_info["file"])) is None:
            raise web.HTTPNotFound(text="Not found.\n")
        return response
