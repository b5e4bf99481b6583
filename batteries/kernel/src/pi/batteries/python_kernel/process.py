"""Kernels as child processes: finds the interpreter, builds its environment, talks to the runner.

The runner is ``runner.py`` or ``runner.js``.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import logging
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from pi.batteries.python_kernel.kernel import Frame, KernelDied, KernelUnavailable, OnFrame
from pi.extension import BadFrame, Child, ConsentRequest, PiError, Record, Scope

MANAGED = Path(".pi", "python-env")
"""A virtual environment for kernels, relative to the home directory."""
log = logging.getLogger(__name__)

FOLDER = Path(__file__).parent
PYTHON_RUNNER, JAVASCRIPT_RUNNER = FOLDER / "runner.py", FOLDER / "runner.js"
EXIT_SECONDS = 1.0
"""Maximum of seconds to wait for the exit and the last error output of a kernel that died."""
MAX_ERRORS = 4000
"""Bytes kept of the end of an interpreter's error output about its own crash."""
MAX_UNREAD = 64 * 1024
"""Bytes kept of output between two cells, e.g. by timers of an earlier cell."""
MARK_DIGITS = 16

Start: TypeAlias = Callable[[Scope], Awaitable[Child]]


class NoInterpreter(PiError):
    """No interpreter was found."""


class Interpreter(Record):
    """An interpreter that was found."""

    path: str
    venv: str = ""
    """The folder of its virtual environment; empty if it has none."""
    is_project: bool = False
    """Whether it belongs to the project, so that running it needs trust and consent."""

    def consent_request(self) -> ConsentRequest:
        """Return the request for the user's consent to run an interpreter of the project.

        The definition changes with the program behind the path and with ``pyvenv.cfg``.
        """
        path, definition = Path(self.path), Path(self.venv, "pyvenv.cfg")
        configured = definition.is_file() if self.venv else False
        return ConsentRequest(
            kind="Python kernel",
            name=Path(self.venv or self.path).name,
            source=str(definition if configured else path),
            definition={
                "command": self.path,
                "program": str(path.resolve()),
                "pyvenv.cfg": definition.read_text("utf-8", "replace") if configured else "",
            },
        )


def find_python(
    cwd: Path, environ: Mapping[str, str], *, chosen: str = "", allows_project: bool
) -> Interpreter:
    """Return the interpreter: chosen, ``VIRTUAL_ENV``, ``.venv``, ``venv``, managed, then PATH.

    Interpreters inside ``cwd`` are code of the project: they are skipped unless it is allowed.
    Raises ``NoInterpreter``.
    """
    if chosen:
        path = cwd / Path(chosen).expanduser()
        if not _is_program(path):
            raise NoInterpreter(
                f"python.interpreter is not a program: {path}.", hint="Correct the setting."
            )
    for interpreter in _pythons(cwd, environ, chosen):
        if allows_project or not interpreter.is_project:
            return interpreter
    raise NoInterpreter(
        "No Python interpreter was found.",
        hint="Install Python 3, activate a virtual environment, or set python.interpreter.",
    )


def _pythons(cwd: Path, environ: Mapping[str, str], chosen: str) -> Iterator[Interpreter]:
    def interpreter_at(path: Path, venv: Path | None = None) -> Interpreter:
        # Links are not resolved: a link in the project can be pointed at another program.
        inside = Path(os.path.normpath(path)).is_relative_to(cwd)
        return Interpreter(path=str(path), venv=str(venv or ""), is_project=inside)

    if chosen:
        path = cwd / Path(chosen).expanduser()
        yield interpreter_at(path, _venv_of(path))
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    active = environ.get("VIRTUAL_ENV")
    folders = [cwd / active] if active else []
    folders += [cwd / ".venv", cwd / "venv"]
    folders += [Path(home) / MANAGED] if home else []
    for folder in folders:
        path = _python_in(folder)
        if _is_program(path):
            yield interpreter_at(path, folder)
    for name in ("python3", "python"):
        for program in _on_path(name, environ):
            yield interpreter_at(program, _venv_of(program))


def find_javascript(cwd: Path, environ: Mapping[str, str]) -> str:
    """Return the path of Node, or of Bun without Node, from PATH; never one of the project.

    Raises ``NoInterpreter``.
    """
    for name in ("node", "bun"):
        for program in _on_path(name, environ):
            if not program.is_relative_to(cwd):
                return str(program)
    raise NoInterpreter(
        "Neither node nor bun was found on PATH.", hint="Install Node or Bun, or set PI_JS=0."
    )


def _on_path(name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    # Relative folders of PATH are folders of the project.
    for folder in environ.get("PATH", "").split(os.pathsep):
        if Path(folder).is_absolute() and (program := shutil.which(name, path=folder)):
            yield Path(program)


_PASSED_ON = (
    r"VIRTUAL_ENV|PYTHON(PATH|HOME|UTF8|IOENCODING|WARNINGS)|CONDA_(PREFIX|DEFAULT_ENV)"
    r"|MPLCONFIGDIR|NODE_(PATH|OPTIONS|ENV)|BUN_ENV|PI_.*"
)
_SECRET = (
    r".*(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)S?(_.*)?"
    r"|PI_(SESSION_.*|PROVIDER|MODEL|REASONING_LEVEL|CHILD_ID|PYTHON_GATEWAY_.*)"
)
"""Variables that are never passed on: keys, and those that describe the session to commands."""


def kernel_environment(
    environ: Mapping[str, str], interpreter: Interpreter | None = None
) -> dict[str, str]:
    """Return the variables that a kernel gets in addition to those of every child process.

    ``environ`` is the environment of commands, without variables that ``models.json`` uses for
    keys and headers: ``"apiKey": "$PI_WORK"`` makes ``PI_WORK`` a secret despite its name.
    """
    environment = {
        name: value
        for name, value in environ.items()
        if re.fullmatch(_PASSED_ON, name) and not re.fullmatch(_SECRET, name)
    }
    if interpreter is None:
        return environment
    environment["PYTHONUNBUFFERED"] = "1"  # for programs that cells start
    if interpreter.venv:
        environment["VIRTUAL_ENV"] = interpreter.venv
        folders = [str(Path(interpreter.path).parent), environ.get("PATH", "")]
        environment["PATH"] = os.pathsep.join(folder for folder in folders if folder)
        environment.pop("PYTHONHOME", None)
    else:
        environment.pop("VIRTUAL_ENV", None)  # its environment was not used
    return environment


def _python_in(venv: Path) -> Path:
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def _venv_of(path: Path) -> Path | None:
    folder = path.parent.parent
    return folder if (folder / "pyvenv.cfg").is_file() else None


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


class ProcessConnection:
    """One runner process. Frames come from its standard output.

    The Python runner sends text as frames, too. Node cannot duplicate descriptors: its runner
    writes text to standard error, where child processes write as well, and marks in it the places
    at which frames were sent (``MarkedText``).
    """

    def __init__(self, start: Start, scope: Scope, *, label: str, traced: bool = False) -> None:
        self._start = start
        self._scope = scope
        self._label = label
        self._traced = traced
        self._child: Child | None = None
        self._cells = 0
        self._text = MarkedText()
        self._error_reader: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the process exists."""
        return self._child is not None and not self._child.is_gone

    @property
    def pid(self) -> int | None:
        """The process id of the runner."""
        return None if self._child is None else self._child.pid

    async def open(self) -> None:
        """Start the process and wait until it is ready. Raises as ``Connection.open`` does."""
        try:
            child = self._child = await self._start(self._scope)
        except KernelUnavailable:
            raise
        except PiError as error:
            raise KernelUnavailable(error.message, hint=error.hint) from error
        self._error_reader = self._scope.spawn(self._text.forward(child), name="kernel text")
        ready = await self._next(child)
        if ready is None or ready["type"] != "ready":
            raise await self._death_error()
        self._text.begin(str(ready.get("marker", "")).encode(), ready.get("mark", 0))

    async def execute(self, code: str, name: str, on_frame: OnFrame) -> str:
        """Run code and return its status."""
        child = self._child
        assert child is not None
        self._cells += 1
        request: Frame = {"id": self._cells, "code": code}
        try:
            await child.write_frame(self._trace("to", request | ({"name": name} if name else {})))
        except ConnectionError as error:
            raise await self._death_error() from error
        with self._text.read_by(on_frame):
            while (frame := await self._next(child)) is not None:
                if "mark" in frame:
                    await self._text.wait_for(frame["mark"])
                if frame["type"] == "done" and frame["id"] == request["id"]:
                    return str(frame["status"])
                on_frame(frame)
                self._text.resume()
            raise await self._death_error()

    async def interrupt(self) -> None:
        """Send SIGINT to the process and the processes that it has started.

        Node ignores the signal while a cell is busy; its runner gets a request in addition.
        """
        if self._child is None:
            return
        self._child.interrupt()
        if self._text.marker:
            with suppress(ConnectionError):
                await self._child.write_frame(b'{"interrupt": true}')

    async def close(self) -> None:
        """End the process and those that it has started, also if it has died itself."""
        child, self._child = self._child, None
        if child is not None:
            await child.terminate()

    async def _death_error(self) -> KernelDied:
        reason, stderr = "it has ended", b""
        if self._child is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(EXIT_SECONDS):
                    ended = await self._child.wait()
                    signal = ended.signal and f"signal {ended.signal}"
                    reason = signal or f"exit code {ended.exit_code}"
                    if self._error_reader is not None:
                        await asyncio.wait([self._error_reader])
            stderr = self._text.last_words
        text = stderr.decode("utf-8", "replace").strip()
        return KernelDied(
            f"The {self._label} kernel died ({reason}); its variables are lost."
            + (f"\n{text}" if text else "")
        )

    async def _next(self, child: Child) -> Frame | None:
        try:
            data = await child.read_frame()
            if data is None:
                return None
            frame: Frame = json.loads(data)
        except (BadFrame, ValueError):
            return None  # it died inside a frame, or another program wrote to its output
        self._trace("from", frame)
        return frame

    def _trace(self, direction: str, frame: Frame) -> bytes:
        data = json.dumps(frame).encode()
        if self._traced:
            log.warning("%s kernel %s: %s", self._label, direction, data[:2000].decode())
        return data


class MarkedText:
    """Standard error of a runner. With a marker it is the text of the cells, in order."""

    def __init__(self) -> None:
        self.marker = b""
        """The bytes before the number of a mark; empty if standard error has no text of cells."""
        self._buffer = b""
        self._reached = self._passed = 0
        self._has_ended = False
        self._changed = asyncio.Event()
        self._on_frame: OnFrame | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def last_words(self) -> bytes:
        """The end of the text that belongs to no cell, without marks."""
        marks = re.escape(self.marker) + b"[0-9a-f]{%d}" % MARK_DIGITS
        return (re.sub(marks, b"", self._buffer) if self.marker else self._buffer)[-MAX_ERRORS:]

    def begin(self, marker: bytes, mark: int) -> None:
        """Set the marker, and the number of the mark that was passed last."""
        self.marker, self._passed = marker, mark

    def read_by(self, on_frame: OnFrame) -> _Reading:
        """Pass text to ``on_frame`` within a ``with`` block."""
        return _Reading(self, on_frame)

    async def forward(self, child: Child) -> None:
        """Read until the process closes the stream."""
        while data := await child.errors.read(MAX_UNREAD):
            self._buffer += data
            if not self.marker or self._on_frame is None:
                self._buffer = self._buffer[-MAX_UNREAD:]
            self._split()
        self._has_ended = True
        self._split()
        self._changed.set()

    async def wait_for(self, mark: int) -> None:
        """Wait until the text before a mark was passed on. The text after it waits for ``resume``.

        Thus a frame is shown between the texts that were written before and after it.
        """
        self._split()
        while self._reached < mark and not self._has_ended:
            self._changed.clear()
            await self._changed.wait()
        self._passed = mark

    def resume(self) -> None:
        """Pass on the text after the last mark that was waited for."""
        self._split()

    def attach(self, on_frame: OnFrame | None) -> None:
        """Pass text to ``on_frame`` from now on; ``None`` buffers it."""
        self._on_frame = on_frame
        self._split()

    def _split(self) -> None:
        """Pass on buffered text up to the first mark whose frame was not shown yet."""
        if not self.marker or self._on_frame is None:
            return
        size = len(self.marker) + MARK_DIGITS
        while (start := self._buffer.find(self.marker)) >= 0 and len(self._buffer) >= start + size:
            self._emit(self._buffer[:start])
            self._buffer = self._buffer[start:]
            self._reached = int(self._buffer[len(self.marker) : size], 16)
            self._changed.set()
            if self._reached > self._passed:
                return
            self._buffer = self._buffer[size:]
        # The rest may end with an incomplete mark.
        rest = len(self._buffer) if start < 0 else start
        keep = 0 if self._has_ended else _overlap(self._buffer[:rest], self.marker)
        self._emit(self._buffer[: rest - keep])
        self._buffer = self._buffer[rest - keep :]

    def _emit(self, data: bytes) -> None:
        if self._on_frame is not None and (text := self._decoder.decode(data)):
            self._on_frame({"type": "stream", "text": text})


class _Reading:
    """Context manager: passes text to ``on_frame`` while a cell runs."""

    def __init__(self, text: MarkedText, on_frame: OnFrame) -> None:
        self._text = text
        self._on_frame = on_frame

    def __enter__(self) -> None:
        self._text.attach(self._on_frame)

    def __exit__(self, *_: object) -> None:
        self._text.attach(None)


def _overlap(data: bytes, marker: bytes) -> int:
    """Return the length of the longest prefix of ``marker`` that ends ``data``."""
    sizes = range(min(len(marker) - 1, len(data)), 0, -1)
    return next((size for size in sizes if marker.startswith(data[-size:])), 0)
