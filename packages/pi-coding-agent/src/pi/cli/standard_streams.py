"""Standard streams: errors, JSON, piped input and questions in a shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi.base.errors import PiError
from pi.base.terminal_text import SanitisedStream, escape_controls, sanitise

if TYPE_CHECKING:
    from typing import TextIO


def print_error(text: str) -> None:
    """Print a message to standard error, without terminal control sequences."""
    sys.stderr.write(f"{sanitise(text)}\n")
    sys.stderr.flush()


def print_json(value: object) -> None:
    """Print a line of JSON, without terminal control sequences."""
    from pi.base.json_lines import encode_line  # lazy: not before the first frame

    sys.stdout.write(escape_controls(encode_line(value).decode()))


def rewrite_line(text: str) -> None:
    """Replace the current line of standard error, which is a terminal."""
    stream: TextIO = sys.stderr
    if isinstance(stream, SanitisedStream):
        stream = stream.unsanitised  # it would remove the carriage return
    stream.write(f"\r{sanitise(text)}")
    stream.flush()


@contextmanager
def protocol_output() -> Iterator[int]:
    """Yield a descriptor of standard output; meanwhile all prints go to standard error."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    printed, sys.stdout = sys.stdout, sys.stderr
    try:
        yield ours
    finally:
        sys.stdout.flush()
        sys.stdout = printed
        os.dup2(ours, 1)
        os.close(ours)


LARGEST_INPUT = 64 * 1024 * 1024
"""Maximum size of piped input in bytes."""


class InputTooLarge(PiError):
    """Piped input is larger than ``LARGEST_INPUT``."""


async def piped_input() -> str:
    """Return piped input; empty if standard input is a terminal.

    Raises ``InputTooLarge`` above ``LARGEST_INPUT``: `yes | pi -p` would fill the memory.
    """
    if sys.stdin.isatty():
        return ""
    from pi.modes.stdio import read_chunks  # lazy: the screen needs none

    data = bytearray()
    async for chunk in read_chunks(0):
        data += chunk
        if len(data) > LARGEST_INPUT:
            limit = f"{LARGEST_INPUT >> 20} MiB"
            raise InputTooLarge(f"Cannot read standard input: larger than {limit}.")
    return data.decode("utf-8", "replace")


def confirm(question: str) -> bool:
    """Ask the user; returns False without a terminal."""
    sys.stderr.write(sanitise(question))
    sys.stderr.flush()
    if not sys.stdin.isatty():
        sys.stderr.write("\n")
        return False
    return sys.stdin.readline().strip().lower() in ("y", "yes")
