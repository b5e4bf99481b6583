"""What a command has written so far, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pi.base.records import Record
from pi.coding.blobs.artifacts import Artifact
from pi.coding.shell.decoding import OutputDecoder
from pi.coding.shell.spill import Spill
from pi.coding.shell.truncation import (
    MOST_BYTES,
    MOST_LINES,
    Size,
    Truncation,
    keep_tail,
    size_text,
)

KEPT = 2 * MOST_BYTES
"""Bytes of the end that are held; more than are ever shown, so that cuts fall between lines."""
MOST_HELD = 4 * MOST_BYTES


if TYPE_CHECKING:
    from pi.base.terminal_text import StreamSanitiser


class Written(Record):
    """The end of an output, and where the whole of it is if that is all there is room for."""

    tail: Truncation
    last_line_bytes: int
    """Size of the last line, also of what is not shown of it."""
    full_output_path: str | None = None
    kept_bytes: int | None = None
    """How much of its beginning that file has, if it has not all of it."""
    artifact: Artifact | None = None

    @property
    def file_label(self) -> str:
        """What that file contains, for a notice that names it."""
        if self.kept_bytes is None:
            return "Full output"
        return f"First {size_text(self.kept_bytes)}, the rest was not kept"


class Output:
    """Takes bytes as they come and knows the last lines of them.

    As soon as something would be lost, everything goes to a file: ``open_spill`` is asked for it.
    A ``harmless`` output is without everything that commands a terminal.
    """

    def __init__(
        self,
        open_spill: Callable[[], Spill | None],
        *,
        fallback: str | None = None,
        harmless: bool = False,
    ) -> None:
        self._open_spill = open_spill
        self._decoder = OutputDecoder(fallback)
        self._sanitiser = _sanitiser() if harmless else None
        self._held = bytearray()
        self._spill: Spill | None = None
        self._cut = False
        self._lines = 0
        self._bytes = 0
        self._line = 0
        self._line_before = 0

    def add(self, data: bytes) -> str:
        """Take what came; gives it as text, without a character that is not complete yet."""
        text = self._decoder.feed(data)
        return self._kept(self._sanitiser.feed(text) if self._sanitiser else text)

    def finish(self) -> str:
        """Nothing more comes: gives what was held back, and the files are complete."""
        rest = self._decoder.feed(b"", final=True)
        if self._sanitiser is not None:
            rest = self._sanitiser.feed(rest) + self._sanitiser.finish()
        self._kept(rest)
        if self._spill is not None:
            self._spill.close()
        return rest

    def written(self) -> Written:
        """The end as it is now."""
        spill = self._spill
        unfinished = self._line > 0
        total = Size(self._lines + unfinished, self._bytes)
        tail = keep_tail(bytes(self._held), total=total)
        return Written(
            tail=tail,
            last_line_bytes=self._line if unfinished else self._line_before,
            full_output_path=str(spill.path) if spill and spill.path else None,
            kept_bytes=spill.limit if spill else None,
            artifact=spill.artifact if spill else None,
        )

    def _kept(self, text: str) -> str:
        if text:
            self._keep(text.encode("utf-8", "replace"))
        return text

    def _keep(self, data: bytes) -> None:
        self._count(data)
        self._held += data
        if self._spill is not None:
            self._spill.write(data)
        elif not self._cut and self._would_lose():
            self._cut = True
            self._spill = self._open_spill()
            if self._spill is not None:
                self._spill.write(bytes(self._held))
        if len(self._held) > MOST_HELD:
            del self._held[:-KEPT]

    def _would_lose(self) -> bool:
        return self._bytes > MOST_BYTES or self._lines + (self._line > 0) > MOST_LINES

    def _count(self, data: bytes) -> None:
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        last = data.rfind(b"\n")
        if last < 0:
            self._line += len(data)
            return
        before = data.rfind(b"\n", 0, last)
        self._line_before = last - before - 1 if before >= 0 else self._line + last
        self._line = len(data) - last - 1


def _sanitiser() -> StreamSanitiser:
    # Its patterns take 5 ms to compile, and what models are shown needs none of them.
    from pi.base.terminal_text import StreamSanitiser

    return StreamSanitiser()
