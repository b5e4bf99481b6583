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


def rewrite_line(text: str) -> None:
    """Show a text in place of the current line of standard error, which is a terminal."""
    stream: TextIO = sys.stderr
    if isinstance(stream, SanitisedStream):
        stream = stream.unsanitised  # the return is ours
    stream.write(f"\r{sanitise(text)}")
    stream.flush()


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
