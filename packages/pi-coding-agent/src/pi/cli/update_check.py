"""Checks the package index for a newer pi, rarely and in the background.

Only the page of this package is requested, from the index that pip is configured for; no data about
this machine is sent. Without such an index there is no check.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.records import UNREADABLE, Record, replace
from pi.coding.runtime.machine import Machine, flag
from pi.version import __version__

log = logging.getLogger(__name__)

PACKAGE = "pi-harness"
FILE = "update-check.json"
"""In the agent directory."""
EVERY_MS = 24 * 3_600_000
AGAIN_MS = 3_600_000
"""Milliseconds until the next attempt after a failure."""
SECONDS = 10.0
"""Time limit of the request in seconds."""
MAX_BYTES = 5_000_000

_RELEASE = re.compile(r"pi[-_.]harness-(\d+(?:\.\d+)*)(?=-|\.tar\.gz|\.zip)", re.IGNORECASE)
_VERSION = re.compile(r"\d+(?:\.\d+)*")
_INDEX_URL = re.compile(r"^\s*index[-_]url\s*[=:]\s*(\S+)", re.MULTILINE)


class CachedVersion(Record):
    """The cached result."""

    latest: str = ""
    checked_ms: int = msgspec.field(default=0, name="askedMs")
    next_ms: int = 0
    """Time of the next check, in milliseconds since 1970."""


class UpdateCheck:
    """Checks at most once a day. The result is cached for the next runs."""

    def __init__(self, host: Machine, *, version: str = __version__) -> None:
        self._host = host
        self._version = version
        self._path = host.agent_dir / FILE

    @property
    def allowed(self) -> bool:
        """Whether the check is allowed."""
        return not (self._host.offline or flag(self._host.environ, "PI_SKIP_VERSION_CHECK"))

    def newer(self) -> str | None:
        """Return a newer version from the cache, or ``None``; sends no request."""
        latest = self._read_cached().latest
        return (
            latest
            if self.allowed and _parse_version(latest) > _parse_version(self._version)
            else None
        )

    def notice(self) -> str:
        """Return a notice about a newer version; empty if none is known."""
        newer = self.newer()
        return f"pi {newer} is available; this is {self._version}." if newer else ""

    async def look(self) -> None:
        """Check if it is due. Never raises, and can be cancelled at any time."""
        now = self._host.clock.now_ms()
        if not self.allowed or now < self._read_cached().next_ms:
            return
        url = await asyncio.to_thread(index_page, self._host.environ, self._host.home)
        if url is None:
            return
        latest = ""
        try:
            async with asyncio.timeout(SECONDS):
                latest = await self._ask(url)
        except (PiError, TimeoutError) as error:
            log.info("update check failed: %s", error)
        self._store(latest, now)

    @asynccontextmanager
    async def in_background(self, notify: Callable[[str], None]) -> AsyncIterator[None]:
        """Check in the background of a block, and report what is known at its end."""
        check = asyncio.ensure_future(self.look())
        try:
            yield
        finally:
            check.cancel()
            await asyncio.wait({check})
            if notice := self.notice():
                notify(notice)

    async def _ask(self, url: str) -> str:
        from pi.ai.factory import Network, make_services  # deferred: imports the HTTP client
        from pi.ai.http.request import HttpRequest

        accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"
        services = make_services(self._host.environ, self._host.clock, Network())
        try:
            request = HttpRequest(url=url, headers=(("Accept", accept),), redirects=3)
            answer = await services.http.request(request, limit=MAX_BYTES)
        finally:
            await services.close()
        return newest(answer.body.decode("utf-8", "replace")) if answer.status == 200 else ""

    def _read_cached(self) -> CachedVersion:
        try:
            return msgspec.json.decode(read_if_exists(self._path) or b"{}", type=CachedVersion)
        except (PiError, *UNREADABLE):
            return CachedVersion()  # can be requested again

    def _store(self, latest: str, checked_ms: int) -> None:
        cached = self._read_cached()
        if cached.checked_ms > checked_ms:
            return  # another process checked later
        if latest:
            cached = CachedVersion(
                latest=latest, checked_ms=checked_ms, next_ms=checked_ms + EVERY_MS
            )
        else:
            cached = replace(cached, checked_ms=checked_ms, next_ms=checked_ms + AGAIN_MS)
        try:
            private_directory(self._path.parent)
            replace_file(self._path, msgspec.json.encode(cached))
        except PiError as error:
            log.info("%s", error)


def newest(page: str) -> str:
    """Return the highest released version that the page of an index lists; empty if none."""
    version = _VERSION.fullmatch(page.strip())
    return max(_RELEASE.findall(page), key=_parse_version, default=version[0] if version else "")


def index_page(environ: Mapping[str, str], home: Path, *, prefix: str = sys.prefix) -> str | None:
    """Return the page of this package in the user's index; ``None`` if there is no index."""
    if url := environ.get("PI_UPDATE_URL"):
        return url
    if environ.get("PIP_NO_INDEX"):
        return None
    index = environ.get("PIP_INDEX_URL") or _configured_index(_pip_files(environ, home, prefix))
    return f"{index.rstrip('/')}/{PACKAGE}/" if index else None


def _pip_files(environ: Mapping[str, str], home: Path, prefix: str) -> list[Path]:
    """Return the configuration files of pip, by precedence. They may not exist."""
    named = environ.get("PIP_CONFIG_FILE")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    usual = [
        Path(prefix) / "pip.conf",
        config / "pip" / "pip.conf",
        home / ".pip" / "pip.conf",
        Path("/etc/pip.conf"),
    ]
    return [Path(named), *usual] if named else usual


def _configured_index(files: Iterable[Path]) -> str | None:
    for path in files:
        try:
            text = (read_if_exists(path) or b"").decode("utf-8", "replace")
        except PiError:  # not readable
            continue
        if match := _INDEX_URL.search(text):
            return match[1]
    return None


def _parse_version(version: str) -> tuple[int, ...]:
    """Parse a version to numbers, so that 0.10 is above 0.9 and 1.0 is 1."""
    numbers = [int(part) for part in version.split(".") if part.isdecimal()]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
