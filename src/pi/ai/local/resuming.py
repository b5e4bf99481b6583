"""Fetching one file of known size in as many attempts as it takes.

What has come stays in a file, so that the next attempt, also of another process, asks only for the
rest. Whether it is the right file is for those to say who know its hash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.request import HttpRequest
from pi.ai.http.response import ResponseStream
from pi.ai.local.pip import Counted
from pi.base.errors import PiError
from pi.base.files import open_private

REDIRECTS = 5

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class NotServed(PiError):
    """The server does not give the file, or gives another one."""


@dataclass(frozen=True)
class PartialFile:
    """The beginning of a file that shall have ``size`` bytes."""

    path: Path
    size: int

    @property
    def there(self) -> int:
        """How many bytes have come; none where the file is too long, and so another one."""
        try:
            found = self.path.stat().st_size
        except OSError:
            return 0
        return found if found <= self.size else 0

    def open(self, *, append: bool) -> FileIO:
        """The file, to write to it from its end or from its beginning."""
        return open(self.path, "ab" if append else "wb", buffering=0, opener=open_private)

    def forget(self) -> None:
        """Begin from zero next time."""
        self.path.unlink(missing_ok=True)


async def complete(part: PartialFile, url: str, http: HttpClient, progress: Counted) -> None:
    """Fetch what ``part`` lacks of the file at ``url``.

    Raises ``NotServed`` or ``HttpError``. A connection that breaks is made again for as long as
    every one brings something new.
    """
    while (there := part.there) < part.size:
        try:
            await _fetch(part, there, url, http, progress)
        except HttpError as problem:
            if not problem.retryable or part.there <= there:
                raise
        if there and not part.there:
            continue  # it was of another file: begin anew
        if part.there <= there:
            raise NotServed(f"The file ended after {part.there} of {part.size} bytes.")


async def _fetch(
    part: PartialFile, there: int, url: str, http: HttpClient, progress: Counted
) -> None:
    """Ask for what is missing and append it; what does not fit is forgotten."""
    wanted = (("Range", f"bytes={there}-"),) if there else ()
    request = HttpRequest(url=url, headers=wanted, redirects=REDIRECTS)
    async with http.stream(request) as response:
        start = _first_byte(response, part, there)
        if start is None:
            part.forget()
            return
        with part.open(append=start > 0) as file:
            done = start
            async for chunk in response.chunks():
                done += len(chunk)
                if done > part.size:
                    raise NotServed(f"The file is longer than {part.size} bytes.")
                file.write(chunk)
                progress(done, part.size)


def _first_byte(response: ResponseStream, part: PartialFile, there: int) -> int | None:
    """Which byte of the file comes first; ``None`` where what is ``there`` does not fit to it."""
    match response.status:
        case 200:
            length = response.headers.get("content-length")
            if length.isdecimal() and int(length) != part.size:
                raise NotServed(f"The file has {length} bytes, and not {part.size}.")
            return 0
        case 206:
            found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range").strip())
            if found and int(found[1]) == there and found[2] in ("*", str(part.size)):
                return there
    if response.status in (206, 416) and there:
        return None
    raise NotServed(f"The server answered {response.status}.")
