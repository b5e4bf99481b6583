"""Resumable download of one file.

The partial file is kept, so that the next attempt, also of another process, requests only the rest.
The caller verifies the hash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.exchange import ResponseStream
from pi.ai.http.request import HttpRequest
from pi.base.errors import PiError
from pi.base.files import open_private
from pi.base.processes.pip_run import Counted

REDIRECTS = 5

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class DownloadUnavailable(PiError):
    """The server does not offer the file, or offers another one."""


@dataclass(frozen=True)
class PartialFile:
    """The beginning of a file that will have ``size`` bytes."""

    path: Path
    size: int

    @property
    def present(self) -> int:
        """The bytes present; 0 if the file is longer than ``size``: it is another file."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return 0
        return size if size <= self.size else 0

    def open(self, *, append: bool) -> FileIO:
        """Open the file to write at its end or from its beginning."""
        return open(self.path, "ab" if append else "wb", buffering=0, opener=open_private)

    def forget(self) -> None:
        """Delete it, so that the next attempt starts from zero."""
        self.path.unlink(missing_ok=True)


async def complete(part: PartialFile, url: str, http: HttpClient, progress: Counted) -> None:
    """Download the missing rest of ``part`` from ``url``.

    Raises ``DownloadUnavailable`` or ``HttpError``. A broken connection is opened again as long as
    each one brings new bytes.
    """
    while (offset := part.present) < part.size:
        try:
            await _fetch_range(part, offset, url, http, progress)
        except HttpError as error:
            if not error.retryable or part.present <= offset:
                raise
        if offset and not part.present:
            continue  # the partial file was of another file: start anew
        if part.present <= offset:
            raise DownloadUnavailable(f"The file ended after {part.present} of {part.size} bytes.")


async def _fetch_range(
    part: PartialFile, offset: int, url: str, http: HttpClient, progress: Counted
) -> None:
    """Request the missing bytes and append them; a partial file that does not match is deleted."""
    headers = (("Range", f"bytes={offset}-"),) if offset else ()
    request = HttpRequest(url=url, headers=headers, redirects=REDIRECTS)
    async with http.stream(request) as response:
        start = _first_byte(response, part, offset)
        if start is None:
            part.forget()
            return
        with part.open(append=start > 0) as file:
            done = start
            async for chunk in response.chunks():
                done += len(chunk)
                if done > part.size:
                    raise DownloadUnavailable(f"The file is longer than {part.size} bytes.")
                file.write(chunk)
                progress(done, part.size)


def _first_byte(response: ResponseStream, part: PartialFile, offset: int) -> int | None:
    """Return the position of the first byte sent; ``None`` if the partial file does not match."""
    match response.status:
        case 200:
            length = response.headers.get("content-length")
            if length.isdecimal() and int(length) != part.size:
                raise DownloadUnavailable(f"The file has {length} bytes, and not {part.size}.")
            return 0
        case 206:
            match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range").strip())
            if match and int(match[1]) == offset and match[2] in ("*", str(part.size)):
                return offset
    if response.status in (206, 416) and offset:
        return None
    raise DownloadUnavailable(f"The server answered {response.status}.")
