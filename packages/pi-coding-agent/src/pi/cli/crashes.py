"""The log of a crash: its traceback, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from pi.base.files import agent_directory, open_private

log = logging.getLogger(__name__)


_redact_crash: list[Callable[[str], str]] = []


def redact_crash(redact: Callable[[str], str]) -> None:
    """Set the function that redacts the log of a crash; the last session wins.

    It is global because a crash is logged after the session is gone.
    """
    _redact_crash[:] = [redact]


def log_crash(error: Exception, environ: Mapping[str, str]) -> Path:
    """Log the traceback of ``error``, redacted, and return the path of the log.

    Raises ``OSError`` or ``PiError`` if the log cannot be written.
    """
    from pi.modes.log_file import NAME, start_log  # deferred: only a crash needs it

    folder = agent_directory(environ)
    end = start_log(folder, environ, redact=next(iter(_redact_crash), None))
    try:
        with open(folder / NAME, "a", opener=open_private):
            pass  # the log handler does not report that it cannot write
        log.error("The program ended unexpectedly.", exc_info=error)
    finally:
        end()
    return folder / NAME
