"""The log in the agent directory: rotated, private, and redacted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.files import FileAccessError, open_private, private_directory
from pi.coding.export.redaction import Redact, Redactor

if TYPE_CHECKING:
    from pi.coding.runtime.secrets import KnownSecrets

NAME = "pi.log"
MAX_BYTES = 2_000_000
BACKUPS = 3

CODEX_DEBUG = "PI_CODEX_DEBUG"
_DETAILED = {
    "PI_DEBUG_REDRAW": ("pi.tui.screen.screen", "pi.tui.fullscreen.display"),
    CODEX_DEBUG: tuple(
        f"pi.ai.wire.openai_responses.{name}" for name in ("codex", "codex_sockets")
    ),
}
"""Loggers whose debug records need the variable.

A line per frame of the screen, and per connection and request to the ChatGPT backend.
"""


def start_log(
    agent_dir: Path,
    environ: Mapping[str, str],
    *,
    redact: Redact | None = None,
    on_error: Callable[[str], object] | None = None,
) -> Callable[[], None]:
    """Write log records to a file; returns a function that closes it.

    Secrets in ``environ`` and the files of ``agent_dir`` are redacted, and everything that looks
    like a key; ``redact`` adds the redaction of the session and its extensions. ``on_error`` is
    called with errors, in one line and in the thread that logs them: once for each kind, and not
    for records with the attribute ``is_reported``. With ``PI_DEBUG_REDRAW`` every frame of the
    screen has a line, with ``PI_CODEX_DEBUG`` every request to the ChatGPT backend.
    """
    # Deferred: these import modules that the first frame does not need.
    from logging.handlers import RotatingFileHandler

    reported = set[tuple[str, str]]()

    class Log(RotatingFileHandler):
        def _open(self) -> TextIOWrapper:
            """Open the file like the base class, but private."""
            return open(self.baseFilename, "a", encoding=self.encoding, opener=open_private)

        def emit(self, record: logging.LogRecord) -> None:
            """Write a record; reports errors."""
            super().emit(record)
            if on_error is None or record.levelno < logging.ERROR or hasattr(record, "is_reported"):
                return
            try:
                kind = (record.name, _first_line(str(record.msg)))
                if kind not in reported:
                    reported.add(kind)
                    on_error(_first_line(record.getMessage()))
            except Exception:  # arguments that do not match the format
                self.handleError(record)

        def handleError(self, record: logging.LogRecord) -> None:
            """Ignored: a full disk must not write over the screen."""

    with suppress(FileAccessError):  # pi also runs without a writable directory
        private_directory(agent_dir)
    handler = Log(
        agent_dir / NAME, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8", delay=True
    )
    handler.setFormatter(_Masking(partial(_known_secrets, agent_dir, environ), redact))
    root = logging.getLogger()
    root.addHandler(handler)
    if root.level > logging.INFO or root.level == logging.NOTSET:
        root.setLevel(logging.INFO)
    details = [
        name
        for variable in _DETAILED
        if is_detailed(environ, variable)
        for name in _DETAILED[variable]
    ]
    _set_levels(details, logging.DEBUG)

    def stop() -> None:
        _set_levels(details, logging.NOTSET)
        root.removeHandler(handler)
        with suppress(OSError):  # a full disk fails again when the rest is flushed
            handler.close()

    return stop


def more_in_log(agent_dir: Path) -> str:
    """The hint where to find details of an error."""
    return f"See {agent_dir / NAME}."


def is_detailed(environ: Mapping[str, str], variable: str) -> bool:
    """Whether ``variable`` enables debug records."""
    return environ.get(variable, "").strip().lower() in ("1", "true")


def _set_levels(names: list[str], level: int) -> None:
    for name in names:
        logging.getLogger(name).setLevel(level)


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _known_secrets(agent_dir: Path, environ: Mapping[str, str]) -> KnownSecrets:
    # Deferred: the first frame does not need it, and most runs log nothing.
    from pi.coding.runtime.machine import Machine
    from pi.coding.runtime.secrets import KnownSecrets

    return KnownSecrets.of(Machine.from_environ(environ, agent_dir=agent_dir))


class _Masking(logging.Formatter):
    """A line per record, with the traceback below it, all redacted."""

    def __init__(self, find: Callable[[], KnownSecrets], redact: Redact | None) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = cache(find)
        self._values: tuple[str, ...] = ()
        self._redactor = Redactor()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Format the record without secrets."""
        values = self._secrets().values()
        if values != self._values:
            self._values, self._redactor = values, Redactor(values)
        return self._redactor.text(self._redact_text(super().format(record)))

    def _redact_text(self, text: str) -> str:
        if self._redact is None:
            return text
        redact, self._redact = self._redact, None  # records of a redactor itself must not call it
        try:
            return redact(text)
        except Exception as error:
            return f"Line omitted: redaction by an extension failed ({error!r})."
        finally:
            self._redact = redact
