"""Values of ``auth.json`` and ``models.json`` that refer to variables or commands.

=================== ===========================================
``sk-123``          itself
``$NAME ${NAME}``   that variable, anywhere in the text
``!command``        the output of the shell command
``$$  $!``          a plain ``$`` or ``!``
=================== ===========================================

The value is ``None`` if a variable is unset or empty, or a command fails or prints nothing.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Coroutine, Hashable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from pi.base.errors import PiError

log = logging.getLogger(__name__)


T = TypeVar("T")


class _Flight(Generic[T]):
    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class SingleFlight(Generic[T]):
    """Runs at most one piece of work per key; concurrent callers share its result.

    A caller that is cancelled leaves at once. When the last one is cancelled, the work is cancelled
    too and awaited, so that nothing goes on in the background.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return or raise the outcome of ``work``, started by this or an earlier caller."""
        flight = self._flights.get(key) or self._start(key, work)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                await self._cancel(key, flight)

    def _start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        task = asyncio.get_running_loop().create_task(work())
        flight = self._flights[key] = _Flight(task)
        task.add_done_callback(lambda _: self._forget(key, flight))
        return flight

    async def _cancel(self, key: Hashable, flight: _Flight[T]) -> None:
        self._forget(key, flight)  # a later caller starts anew
        flight.task.cancel()
        await asyncio.wait({flight.task})

    def _forget(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task.done() and not flight.task.cancelled():
            flight.task.exception()  # retrieved, so that asyncio does not warn


COMMAND_SECONDS = 60.0
"""Timeout of a command: a password manager may have to ask the user first."""
MAX_OUTPUT_BYTES = 64 * 1024
SHORTEST_SECRET = 6
"""Shorter values are more likely to be a word than a secret."""
MAX_REMEMBERED = 1000
"""Limit of remembered secrets: a command may print another token for every request."""

_used: dict[str, None] = {}

_REFERENCE = r"(?a)\$(?:(?P<plain>[$!])|\{(?P<braced>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*))"


def remember_used(secret: str | None) -> None:
    """Remember a secret that this process uses, so that it can be redacted from all output.

    The list is global. When a log or an export is written, no file and no variable contains the
    output of a command, a token that was replaced since, or a key of the command line.
    """
    if not secret:
        return
    _used.pop(secret, None)
    _used[secret] = None
    if len(_used) > MAX_REMEMBERED:
        del _used[next(iter(_used))]


def used_secrets() -> tuple[str, ...]:
    """Return the secrets that this process has used and remembers."""
    return tuple(_used)


class CommandCache:
    """Outputs of successful commands, so that each runs once per environment."""

    def __init__(self) -> None:
        self._outputs: dict[Hashable, str] = {}
        self._running: SingleFlight[str | None] = SingleFlight()

    async def output(self, command: str, *, environ: Mapping[str, str], cwd: Path) -> str | None:
        """Return the output of ``command``, run now or earlier."""
        key = command, frozenset(environ.items())
        if key not in self._outputs:
            output = await self._running.run(key, lambda: _output(command, environ, cwd))
            if output is None:
                return None
            self._outputs[key] = output
        return self._outputs[key]


async def expand(
    text: str,
    *,
    environ: Mapping[str, str],
    cwd: Path = Path(),
    remembered: CommandCache | None = None,
) -> str | None:
    """Return the value of ``text``, or ``None`` if it has none.

    A command runs each time, or once if there is the cache ``remembered``.
    """
    if not text.startswith("!"):
        return interpolated(text, environ)
    if remembered is not None:
        return await remembered.output(text[1:], environ=environ, cwd=cwd)
    return await _output(text[1:], environ, cwd)


def may_expand(text: str, environ: Mapping[str, str]) -> bool:
    """Whether ``text`` has a value, as far as that is known without running a command."""
    return text.startswith("!") or interpolated(text, environ) is not None


def unresolved_reason(text: str, environ: Mapping[str, str]) -> str:
    """Return why ``text`` has no value, as the end of a sentence, without quoting it: it may be
    secret."""
    if text.startswith("!"):
        return "its command failed or printed nothing: run it in a terminal to see why"
    unset = [name for name in names_in(text) if not environ.get(name)]
    if not unset:
        return "it is empty"
    return f"{' and '.join(unset)} {'is' if len(unset) == 1 else 'are'} not set"


def escape(literal: str) -> str:
    """Return value syntax for exactly ``literal``: for keys that the user typed."""
    escaped = literal.replace("$", "$$")
    return f"${escaped}" if escaped.startswith("!") else escaped


def names_in(text: str) -> list[str]:
    """Return the variables that ``text`` refers to, in a command also those of the shell."""
    matches = re.finditer(_REFERENCE, text)
    return [name for match in matches if (name := match["braced"] or match["bare"])]


def interpolated(text: str, environ: Mapping[str, str]) -> str | None:
    """Return ``text``, which is not a command, with the values of its variables."""
    if "$" not in text:
        return text or None
    if not all(environ.get(name) for name in names_in(text)):
        return None
    value = re.sub(
        _REFERENCE, lambda match: match["plain"] or environ[match["braced"] or match["bare"]], text
    )
    return value or None


async def _output(command: str, environ: Mapping[str, str], cwd: Path) -> str | None:
    from pi.base import processes  # lazy: it imports the event loop, and few keys are commands

    shell = ("cmd.exe", "/d", "/s", "/c") if sys.platform == "win32" else ("/bin/sh", "-c")
    try:
        finished = await processes.run(
            [*shell, command],
            cwd=cwd,
            env=processes.with_absolute_path(processes.without(environ, ())),
            timeout=COMMAND_SECONDS,
            max_output=MAX_OUTPUT_BYTES,
        )
    except PiError as error:
        log.info("a command for a key could not be started: %s", error)
        return None
    if not finished.ok:
        log.info("a command for a key ended with %s", finished.exit_code)
        return None
    output = finished.output.decode("utf-8", "replace").strip() or None
    remember_used(output)
    return output
