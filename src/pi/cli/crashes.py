"""Writes an unexpected exception to the log, redacted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from pi.base.files import agent_directory, open_private
from pi.modes.log_file import NAME, start_log

log = logging.getLogger(__name__)


def log_crash(problem: Exception, environ: Mapping[str, str]) -> Path:
    """Logs the traceback of ``problem`` in the agent directory and returns the path of the log.

    Raises ``OSError`` or ``PiError`` if the log cannot be written.
    """
    folder = agent_directory(environ)
    end = start_log(folder, environ)
    try:
        with open(folder / NAME, "a", opener=open_private):
            pass  # the log handler does not report that it cannot write
        log.error("The program ended unexpectedly.", exc_info=problem)
    finally:
        end()
    return folder / NAME
