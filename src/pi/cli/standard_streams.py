"""The three streams of the process, as modes without a screen use them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pi.base.json_lines import encode_line
from pi.base.terminal_text import SanitisedStream, escape_controls, sanitise

if TYPE_CHECKING:
    from typing import TextIO


def complain(text: str) -> None:
    """Say something to the person, beside the output; nothing in it can command a terminal."""
    sys.stderr.write(f"{sanitise(text)}\n")
    sys.stderr.flush()


def print_json(value: object) -> None:
    """Print a line of JSON for programs; a terminal that shows it obeys nothing in it."""
    sys.stdout.write(escape_controls(encode_line(value).decode()))


def print_exactly(text: str) -> None:
    """Print a value that a program reads, such as a key; only a terminal gets it sanitised."""
    stream = sys.stdout if sys.stdout.isatty() else _unsanitised(sys.stdout)
    stream.write(f"{text}\n")


def rewrite_line(text: str) -> None:
    """Show a text in place of the line on which standard error's terminal is."""
    _unsanitised(sys.stderr).write(f"\r{sanitise(text)}")
    sys.stderr.flush()


def _unsanitised(stream: TextIO) -> TextIO:
    return stream.unsanitised if isinstance(stream, SanitisedStream) else stream


@contextmanager
def protocol_output() -> Iterator[int]:
    """Standard output for us alone: meanwhile, what anybody else prints goes to standard error."""
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


async def piped_input() -> str:
    """What is piped into the program; nothing, if a person sits at the other end."""
    if sys.stdin.isatty():
        return ""
    from pi.modes.input import read_chunks

    return b"".join([chunk async for chunk in read_chunks(0)]).decode("utf-8", "replace")


def confirm(question: str) -> bool:
    """Ask a person; nobody there means no."""
    sys.stderr.write(sanitise(question))
    sys.stderr.flush()
    if not sys.stdin.isatty():
        sys.stderr.write("\n")
        return False
    return sys.stdin.readline().strip().lower() in ("y", "yes")
