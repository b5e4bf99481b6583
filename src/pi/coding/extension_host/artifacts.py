"""Long outputs, as extensions keep them: whole, or as they come."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pi.coding.blobs.artifacts import Artifacts
from pi.coding.shell.output import Output
from pi.coding.shell.spill import Spill

MOST_IN_MEMORY = 64 * 1024 * 1024
"""Bytes of an output that a session without a folder keeps."""


class OutputSink:
    """Takes an output as it comes and holds its end; all of it is an artifact once it is long.

    ``with`` closes it. What is written must not be read from the artifact before that.
    """

    def __init__(self, artifacts: Artifacts, kind: str) -> None:
        self._artifacts = artifacts
        self._kind = kind
        self._number: str | None = None
        self._output = Output(self._open)
        self._is_closed = False

    def write(self, data: str | bytes) -> None:
        """Add to the end; bytes may be cut inside a character."""
        self._output.add(data.encode("utf-8", "replace") if isinstance(data, str) else data)

    def close(self) -> None:
        """Nothing more comes; a second time does no harm."""
        if not self._is_closed:
            self._is_closed = True
            self._output.finish()

    @property
    def number(self) -> str | None:
        """Of the artifact with all of it, when it is closed; ``None`` if ``text`` is all of it."""
        return self._number

    @property
    def text(self) -> str:
        """What a model should read: the last lines, and where all of them are."""
        written = self._output.written()
        tail = written.tail
        if not tail.truncated:
            return tail.content
        first = tail.total_lines - tail.output_lines + 1
        shown = f"Showing lines {first}-{tail.total_lines} of {tail.total_lines}"
        where = f". {written.file_label}: {self._where(self._number)}" if self._number else ""
        return f"{tail.content}\n\n[{shown}{where}]"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _where(self, number: str) -> str:
        path = self._artifacts.path(int(number))
        return f"artifact://{number}" if path is None else str(path)

    def _open(self) -> Spill:
        """Where all of it goes: a file, or memory where the session has no folder."""
        artifact = self._artifacts.allocate(self._kind)
        if artifact is None:
            return Spill(_Kept(self._save), [Path(self._kind)], most=MOST_IN_MEMORY)
        self._number = artifact.id
        only_here = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        file = os.fdopen(os.open(artifact.path, only_here, 0o600), "wb")
        return Spill(file, [artifact.path], artifact)

    def _save(self, text: str) -> None:
        self._number = self._artifacts.save(self._kind, text)


class _Kept(io.BytesIO):
    """A file in memory that hands over what was written when it is closed."""

    def __init__(self, keep: Callable[[str], None]) -> None:
        super().__init__()
        self._keep = keep

    def close(self) -> None:
        if not self.closed:
            self._keep(self.getvalue().decode("utf-8", "replace"))
        super().close()


class ExtensionArtifacts:
    """The artifacts of a session, by number: ``save`` a text, or write one to a ``sink``."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    def save(self, kind: str, text: str) -> str:
        """Keep a text; its number, as ``artifact://`` wants it. ``kind`` is what made the text."""
        return self._artifacts.save(kind, text)

    def sink(self, kind: str) -> OutputSink:
        """Takes an output of any length as it comes, in bounded memory."""
        return OutputSink(self._artifacts, kind)

    def read(self, number: int | str) -> str | None:
        """The text of an artifact; ``None`` if there is none of that number."""
        return self._artifacts.read(int(number))

    def path(self, number: int | str) -> Path | None:
        """The file of an artifact; ``None`` if it is in memory, or nowhere."""
        return self._artifacts.path(int(number))

    def numbers(self) -> list[int]:
        """Of all artifacts that there are, in order."""
        return self._artifacts.numbers()
