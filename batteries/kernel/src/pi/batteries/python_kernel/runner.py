"""The process that runs Python cells. Started by path with the chosen interpreter.

It imports the standard library only: pi is not installed for that interpreter. Frames are a length
(four bytes, big-endian) and JSON. A request is ``{"id", "code"}``, with ``name`` for setup code.
Answers are ``stream``, ``display``, ``error``, ``input`` and, last, ``done``.
"""

from __future__ import annotations

import ast
import base64
import builtins
import codecs
import contextlib
import faulthandler
import importlib.abc
import importlib.machinery
import io
import itertools
import json
import linecache
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

FILENAME = "<cell {}>"
BACKEND = "_pi_figures"
"""The name of the matplotlib backend whose ``show()`` displays the figures."""
CHUNK = 65536
NUMBER = 8
"""Bytes of a frame's number, after its marker."""
METHODS = {
    "text/markdown": "_repr_markdown_",
    "text/html": "_repr_html_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
}
"""IPython's display protocol: the method of a value for each MIME type."""
COROUTINE = 0x80
"""``inspect.CO_COROUTINE``, without an import of that large module."""
MAX_INPUTS = 100
"""Empty answers to ``input()`` in one cell: a loop that waits for a valid one must end."""


class Output:
    """Sends printed text and frames to pi, in the order in which they were written to one pipe.

    Descriptors 1 and 2 become the pipe, which includes output of child processes and C code. A
    frame waits in a queue until its marker is read from the pipe: it cannot overtake text that was
    printed before it. Only the reading thread writes to pi, so an interrupt never cuts a frame.
    """

    def __init__(self) -> None:
        self._to_pi = os.dup(1)
        self._crashes = os.fdopen(os.dup(2), "wb", buffering=0)
        faulthandler.enable(self._crashes)
        self._pipe, written = os.pipe()
        self._marker = os.urandom(16)
        os.dup2(written, 1)
        os.dup2(written, 2)
        # The cell may close or redirect 1 and 2: markers have a descriptor of their own.
        self._marking = written
        self._frames: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        self._numbers = itertools.count()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        threading.Thread(target=self._forward, name="pi output", daemon=True).start()

    def send(self, frame: dict[str, Any]) -> None:
        """Send a frame after the text that was printed before it."""
        flush()
        number = next(self._numbers)
        self._frames.put((number, frame))
        os.write(self._marking, self._marker + number.to_bytes(NUMBER, "big"))

    def _forward(self) -> None:
        buffer, sent = b"", -1
        while chunk := os.read(self._pipe, CHUNK):
            buffer += chunk
            while (position := buffer.find(self._marker)) >= 0:
                end = position + len(self._marker) + NUMBER
                if len(buffer) < end:
                    break
                self._stream(buffer[:position])
                number = int.from_bytes(buffer[end - NUMBER : end], "big")
                # An interrupt may have lost a marker: its frame is sent with the next one. Later
                # frames wait, because text that was printed before them is still in the pipe.
                while sent < number:
                    sent, frame = self._frames.get()
                    self._write(frame)
                buffer = buffer[end:]
            if position >= 0:
                continue
            keep = self._partial_marker(buffer)
            self._stream(buffer[: len(buffer) - keep])
            buffer = buffer[len(buffer) - keep :]

    def _partial_marker(self, data: bytes) -> int:
        """The length of the longest prefix of the marker that ends ``data``."""
        sizes = range(min(len(self._marker) - 1, len(data)), 0, -1)
        return next((size for size in sizes if self._marker.startswith(data[-size:])), 0)

    def _stream(self, data: bytes) -> None:
        if text := self._decoder.decode(data):
            self._write({"type": "stream", "text": text})

    def _write(self, frame: dict[str, Any]) -> None:
        data = json.dumps(frame, default=repr).encode()
        data = len(data).to_bytes(4, "big") + data
        try:
            while data:
                data = data[os.write(self._to_pi, data) :]
        except OSError:
            os._exit(0)  # pi is gone


def text_stream(descriptor: int) -> io.TextIOWrapper:
    """A standard stream that flushes each line, in UTF-8 with any locale."""
    raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115 - lives as long as the process
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)


def flush() -> None:
    """Flush the standard streams; errors are ignored."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the cell may have closed or replaced it
            stream.flush()


class Requests:
    """Reads requests of pi. When the stream ends, pi has ended: the process exits at once."""

    def __init__(self) -> None:
        self._stream = os.fdopen(os.dup(0), "rb")
        null_device = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null_device, 0)
        os.close(null_device)
        self._waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.next = self._waiting.get
        """Waits for the next request."""
        threading.Thread(target=self._read, name="pi requests", daemon=True).start()

    def _read(self) -> None:
        while len(header := self._stream.read(4)) == 4:
            self._waiting.put(json.loads(self._stream.read(int.from_bytes(header, "big"))))
        os._exit(0)


def mime_bundle(value: Any) -> dict[str, Any]:
    """The value by MIME type, as in IPython's display protocol. Binary data is base64."""
    bundle: dict[str, Any] = {}
    make_bundle = None if isinstance(value, type) else getattr(value, "_repr_mimebundle_", None)
    if callable(make_bundle):
        result = make_bundle(include=None, exclude=None)
        bundle.update(result[0] if isinstance(result, tuple) else result or {})
    for kind, name in METHODS.items():
        method = None if isinstance(value, type) else getattr(value, name, None)
        if kind not in bundle and callable(method):
            result = method()
            result = result[0] if isinstance(result, tuple) else result
            if result is not None:
                bundle[kind] = result
    if "text/plain" not in bundle:
        bundle["text/plain"] = repr(value)
    return encode_bundle(bundle)


def encode_bundle(bundle: dict[str, Any]) -> dict[str, Any]:
    """The bundle with bytes as base64, and texts without lone surrogates."""
    texts: dict[str, Any] = {}
    for kind, data in bundle.items():
        if isinstance(data, bytes):
            data = base64.b64encode(data).decode()
        if isinstance(data, str):
            data = data.encode("utf-8", "replace").decode()
        texts[kind] = data
    return texts


class FigureBackend(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The matplotlib backend of the kernel, selected when ``pyplot`` is first imported.

    ``MPLBACKEND`` is not set: child processes would inherit a backend that they do not have.
    """

    def __init__(self, show: Callable[..., None]) -> None:
        self._show = show

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the backend; select the backend when ``pyplot`` is imported."""
        if name == BACKEND:
            return importlib.machinery.ModuleSpec(name, self)
        if name == "matplotlib.pyplot" and "MPLBACKEND" not in os.environ:
            sys.modules["matplotlib"].rcParams["backend"] = f"module://{BACKEND}"
        return None

    def exec_module(self, module: Any) -> None:
        """Fill the backend module; Agg draws the figures."""
        agg = importlib.import_module("matplotlib.backends.backend_agg")
        bases = importlib.import_module("matplotlib.backend_bases")
        module.FigureCanvas, module.FigureManager = agg.FigureCanvasAgg, bases.FigureManagerBase
        module.show = self._show


class CellRunner:
    """Runs cells in one namespace."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._count = 0
        self._name = ""
        self._inputs = 0
        self._shell: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.running = False
        main = type(sys)("__main__")
        main.__dict__.update(__builtins__=builtins, display=self.display)
        sys.modules["__main__"] = main
        self.namespace: dict[str, Any] = main.__dict__
        sys.meta_path.insert(0, FigureBackend(self.show_figures))
        builtins.input = self._input

    def run(self, code: str, name: str = "") -> str:
        """Run a cell. Returns ``ok``, ``error`` or ``interrupted``."""
        self._count += not name
        self._name = name or FILENAME.format(self._count)
        self._inputs = 0
        try:
            self.running = True
            self._evaluate(code)
            self.show_figures()
            self.running = False
            return "ok"
        except KeyboardInterrupt:
            self.running = False
            self._report()
            return "interrupted"
        except BaseException:
            self.running = False
            self._report()
            return "error"

    def display(self, *values: Any, raw: bool = False, **_: Any) -> None:
        """Display values richly, or bundles by MIME type. Available to cells, as in IPython."""
        for value in values:
            try:
                data = encode_bundle(value) if raw else mime_bundle(value)
            except Exception:
                traceback.print_exc()
                data = {"text/plain": object.__repr__(value)}
            self._output.send({"type": "display", "data": data})

    def show_figures(self, *_: Any, **__: Any) -> None:
        """Display all open figures of matplotlib and close them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        for number in pyplot.get_fignums() if pyplot else ():
            figure, png = pyplot.figure(number), io.BytesIO()  # type: ignore[union-attr]
            figure.savefig(png, format="png", bbox_inches="tight")
            data = {"image/png": png.getvalue(), "text/plain": str(figure)}
            self._output.send({"type": "display", "data": encode_bundle(data)})
            pyplot.close(figure)  # type: ignore[union-attr]

    def _evaluate(self, code: str) -> None:
        if "IPython" in sys.modules or "IPython" in code or is_magic(code):
            self._connect_ipython()
        if self._shell is not None and is_magic(code):
            code = self._shell.transform_cell(code)
        name = self._name
        # Source lines for tracebacks. Without an mtime (None) linecache does not look for a file.
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self._execute(tree, name, "exec")
        if isinstance(last, ast.Expr):
            value = self._execute(ast.Expression(last.value), name, "eval")
            hidden = code.rstrip().endswith(";")
            if value is not None:
                self.namespace["_"] = value
                if not hidden:
                    self.display(value)

    def _execute(self, tree: Any, name: str, mode: str) -> Any:
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compiled = compile(tree, name, mode, flags=flags, dont_inherit=True)
        result = eval(compiled, self.namespace)
        if compiled.co_flags & COROUTINE:
            import asyncio  # deferred: 10 MB that few cells need

            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self._loop)
            task = self._loop.create_task(result)
            try:
                return self._loop.run_until_complete(task)
            except KeyboardInterrupt:
                task.cancel()  # it must not go on beside the next cell
                with contextlib.suppress(asyncio.CancelledError):
                    self._loop.run_until_complete(task)
                raise
        return result

    def _connect_ipython(self) -> None:
        """Send the output of ``IPython.display`` to pi, if the interpreter has IPython."""
        if self._shell is not None:
            return
        try:
            from IPython.core.interactiveshell import (  # type: ignore[import-not-found]
                InteractiveShell,
            )
            from traitlets.config import Config  # type: ignore[import-not-found]
        except ImportError:
            return
        config = Config()
        config.HistoryManager.enabled = False  # the user's history is not the model's
        hooks = sys.displayhook, sys.excepthook
        shell = InteractiveShell.instance(config=config, user_ns=self.namespace)
        sys.displayhook, sys.excepthook = hooks

        def publish(data: dict[str, Any], *_: Any, **__: Any) -> None:
            self._output.send({"type": "display", "data": encode_bundle(data)})

        shell.display_pub.publish = publish
        self._shell = shell

    def _report(self) -> None:
        kind, error, trace = sys.exc_info()
        assert kind is not None and error is not None
        try:
            summary = traceback.TracebackException(kind, error, trace)
            # Frames of the runner are of no use: those before the cell and of this file.
            names = [frame.filename for frame in summary.stack]
            cell = self._name
            first = names.index(cell) if cell in names else len(names)
            frames = [frame for frame in summary.stack[first:] if frame.filename != __file__]
            summary.stack = traceback.StackSummary.from_list(frames)
            text = "".join(summary.format())
        except Exception:
            text = f"{kind.__name__}\n"
        text = text.encode("utf-8", "replace").decode()
        self._output.send({"type": "error", "traceback": text})

    def _input(self, prompt: object = "") -> str:
        self._inputs += 1
        if self._inputs > MAX_INPUTS:
            raise EOFError("input() is not supported: pass the data in the code.")
        self._output.send({"type": "input", "prompt": str(prompt)})
        return ""


def is_magic(code: str) -> bool:
    """Whether a cell has IPython commands: lines that begin with ``%`` or ``!``."""
    return any(line.lstrip()[:1] in ("%", "!") for line in code.splitlines())


def main() -> None:
    """Serve requests until pi closes standard input."""
    output, requests = Output(), Requests()
    sys.stdout = sys.__stdout__ = text_stream(1)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = text_stream(2)  # type: ignore[misc]
    # The first entry is the folder of this file; cells import from the working directory.
    sys.path[0] = os.getcwd()  # noqa: PTH109 - a text
    sys.argv = [""]
    interpreter = CellRunner(output)

    def interrupt(*_: object) -> None:
        # Between cells there is nothing to interrupt.
        if interpreter.running:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    output.send({"type": "ready", "version": sys.version.split()[0]})
    while True:
        request = requests.next()
        status = "interrupted"
        try:
            try:
                status = interpreter.run(request["code"], request.get("name", ""))
            finally:
                interpreter.running = False
        except KeyboardInterrupt:  # a second interrupt, while the first was being handled
            interpreter.running = False
        output.send({"type": "done", "id": request["id"], "status": status})


if __name__ == "__main__":
    main()
