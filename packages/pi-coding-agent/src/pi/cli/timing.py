"""Start-up timing: ``PI_TIMING`` and ``PI_DEBUG_STARTUP``. Imported only for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import TypeAlias

from pi.cli.quick_imports import finder_first
from pi.modes.phases import observe_phases

MARKERS = "PI_DEBUG_STARTUP"
TIMING = "PI_TIMING"
EVERY_MODULE = "full"
"""Value of ``PI_TIMING`` that lists all modules."""
SLOWEST = 10

Write: TypeAlias = Callable[[str], None]
Clock: TypeAlias = Callable[[], float]


def run_with_timing(run: Callable[[], int], environ: Mapping[str, str]) -> int:
    """Return the result of ``run``; prints the requested measurements to standard error."""
    with ExitStack() as watching:
        if environ.get(MARKERS):
            watching.enter_context(observe_phases(Markers(_write)))
        if value := environ.get(TIMING):
            timings = Timings(_write, time.perf_counter, every_module=value == EVERY_MODULE)
            watching.enter_context(timings.of_modules())
            watching.enter_context(observe_phases(timings))
            watching.callback(timings.ready)
        return run()


class Markers:
    """Prints the start and end of each phase at once: the last line names the one that hangs."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def began(self, name: str) -> None:
        """Print the start of a phase."""
        self._write(f"[startup] {name}:start\n")

    def ended(self, name: str) -> None:
        """Print the end of a phase."""
        self._write(f"[startup] {name}:done\n")

    def ready(self) -> None:
        """Do nothing: every line is already printed."""


class Timings:
    """Measures phases and module imports, and prints a report once everything is ready.

    Only the slowest modules are listed, unless all are requested.
    """

    def __init__(self, write: Write, clock: Clock, *, every_module: bool) -> None:
        self._write = write
        self._clock = clock
        self._most_modules = None if every_module else SLOWEST
        self._spans = [_Span("start", 0, clock())]
        self._open = [self._spans[0]]
        self._modules: dict[str, float] = {}
        self._reported = False

    def began(self, name: str) -> None:
        """Start a measurement."""
        span = _Span(name, len(self._open), self._clock())
        self._spans.append(span)
        self._open.append(span)

    def ended(self, name: str) -> None:
        """End a measurement."""
        span = next(span for span in reversed(self._open) if span.name == name)
        span.end = self._clock()
        self._open.remove(span)

    def ready(self) -> None:
        """Print the report, once; phases that are still running end now."""
        if self._reported:
            return
        self._reported = True
        now = self._clock()
        lines = ["Timing, in milliseconds:"]
        lines += [_line(span.seconds(now), span.name, span.depth) for span in self._spans]
        slowest = sorted(self._modules.items(), key=lambda module: -module[1])[: self._most_modules]
        lines.append("Modules, with what they load in turn:")
        lines += [_line(seconds, name) for name, seconds in slowest]
        self._write("\n".join(lines) + "\n")

    def of_modules(self) -> AbstractContextManager[None]:
        """Measure the import time of modules inside the block."""
        return finder_first(_TimedFinder(self._clock, self._modules))


class _Span:
    def __init__(self, name: str, depth: int, begin: float) -> None:
        self.name = name
        self.depth = depth
        self.begin = begin
        self.end: float | None = None

    def seconds(self, now: float) -> float:
        return (now if self.end is None else self.end) - self.begin


class _TimedFinder:
    """Finds modules with the other finders and records their execution time."""

    def __init__(self, clock: Clock, durations: dict[str, float]) -> None:
        self._clock = clock
        self._found = durations

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        others = [finder for finder in sys.meta_path if finder is not self]
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and isinstance(spec.loader, SourceFileLoader | ExtensionFileLoader):
            execute = spec.loader.exec_module

            def timed(module: ModuleType) -> None:
                begin = self._clock()
                try:
                    execute(module)
                finally:
                    self._found[name] = self._clock() - begin

            # These belong to one module; code that reads resources through it needs the original
            # loader.
            setattr(spec.loader, "exec_module", timed)  # noqa: B010
        return spec


def _line(seconds: float, name: str, depth: int = 0) -> str:
    return f"{seconds * 1000:9.1f}  {'  ' * depth}{name}"


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
