"""An error that nobody foresaw: kept in the log, without secrets, where a person can find it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from pi.base.files import open_private
from pi.cli.agent_dir import agent_directory
from pi.modes.log_file import NAME, start_log

log = logging.getLogger(__name__)


def log_crash(problem: Exception, environ: Mapping[str, str]) -> Path:
    """Write where ``problem`` comes from into the log of the agent directory; gives its path.

    ``OSError`` or ``PiError`` if there can be none.
    """
    folder = agent_directory(environ)
    end = start_log(folder, environ)
    try:
        with open(folder / NAME, "a", opener=open_private):
            pass  # the log would not say that it cannot be written
        log.error("The program ended unexpectedly.", exc_info=problem)
    finally:
        end()
    return folder / NAME
