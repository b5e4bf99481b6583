"""Run ``pi`` of a checkout and count which of its functions call which.

``call_counter.py whole|marked CHECKOUT RESULT ARGUMENT…`` runs ``pi ARGUMENT…`` from the sources
of the checkout, with a profile function in every thread, and writes RESULT as JSON when it ends.
``whole`` counts from start to end; ``marked`` counts between the signals SIGUSR1 and SIGUSR2, each
of which is confirmed by ``COUNTING`` or ``COUNTED`` on standard error, with RESULT being complete
at ``COUNTED``. RESULT.pid is the process to send them to.

Calls of functions of ``pi`` count; bodies of modules and classes, comprehensions, and
generators or coroutines that continue do not. A call is a cross-file call if its direct caller is a
function (again no module or class body) of another file of ``pi``; calls by the event loop, the
standard library or C are not.

Only the standard library is used: this runs in the environment of the measured checkout.
"""

from __future__ import annotations

import dis
import inspect
import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts import workspace

COUNTING = "[calls: counting]"
COUNTED = "[calls: counted]"
_COMPREHENSIONS = frozenset({"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"})


class CallCounter:
    """Collects the calls of one process, from all of its threads."""

    def __init__(self, sources: Sequence[Path], result: Path) -> None:
        self.is_counting = False
        self._folders = tuple(f"{source / 'pi'}{os.sep}" for source in sources)
        self._result = result
        self._process = os.getpid()
        self._confirmations = os.dup(2)  # the interactive mode sends standard error elsewhere
        self._calls: list[tuple[str, str]] = []
        """Called file and calling file; "" for a caller that does not count."""
        self._known: dict[CodeType, tuple[str, int]] = {}

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Called by the interpreter; appending to a list is safe in any thread."""
        if event != "call" or not self.is_counting:
            return
        called, begin = self._look_up(frame.f_code)
        if called and frame.f_lasti == begin:
            caller = self._look_up(frame.f_back.f_code)[0] if frame.f_back else ""
            self._calls.append((called, caller))

    def start(self, *_: object) -> None:
        """Forget earlier calls and count; also a signal handler."""
        self._calls.clear()
        os.write(self._confirmations, COUNTING.encode())
        self.is_counting = True

    def stop(self, *_: object) -> None:
        """Stop counting and write the result; also a signal handler."""
        self.is_counting = False
        self.save()
        os.write(self._confirmations, COUNTED.encode())

    def save(self) -> None:
        """Write the result, unless this is a forked child."""
        if os.getpid() != self._process:
            return
        files = Counter(called for called, _ in self._calls)
        crossing = Counter(
            f"{caller} -> {called}" for called, caller in self._calls if caller and caller != called
        )
        found = {"files": dict(files.most_common()), "crossing": dict(crossing.most_common())}
        self._result.write_text(json.dumps(found), encoding="utf-8")

    def _look_up(self, code: CodeType) -> tuple[str, int]:
        """The file of a function and the offset at which a call begins; "" if it does not count."""
        found = self._known.get(code)
        if found is None:
            path = code.co_filename
            # Bodies of modules and classes keep their names in dictionaries: not optimised.
            is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
            if (
                not is_function
                or code.co_name in _COMPREHENSIONS
                or not path.startswith(self._folders)
            ):
                found = ("", -1)
            else:
                folder = next(name for name in self._folders if path.startswith(name))
                found = (path.removeprefix(folder), _first_offset(code))
            self._known[code] = found
        return found


def _first_offset(code: CodeType) -> int:
    """The offset at which a call begins; a generator that continues has a later one."""
    instructions = dis.get_instructions(code)
    return next(item.offset for item in instructions if item.opname == "RESUME")


def main() -> NoReturn:
    """Run ``pi`` and count its calls as the command line requests."""
    mode, checkout, result, *arguments = sys.argv[1:]
    sources = workspace.sources(Path(checkout).resolve())
    sys.path[:0] = map(str, sources)
    counter = CallCounter(sources, Path(result))
    leave = os._exit

    def save_and_leave(code: int) -> NoReturn:
        if counter.is_counting:
            counter.save()
        leave(code)

    setattr(os, "_exit", save_and_leave)  # noqa: B010 - pi ends this way when a thread hangs
    threading.setprofile(counter.profile)
    sys.setprofile(counter.profile)
    if mode == "marked":
        signal.signal(signal.SIGUSR1, counter.start)
        signal.signal(signal.SIGUSR2, counter.stop)
        Path(f"{result}.pid").write_text(str(os.getpid()))
    from pi.cli.main import main as run_pi

    imported = str(sys.modules["pi.cli.main"].__file__)
    if not imported.startswith(tuple(map(str, sources))):
        sys.exit(f"call_counter: imported {imported}, which is not in {checkout}.")
    sys.argv = ["pi", *arguments]
    counter.is_counting = mode == "whole"
    try:
        sys.exit(run_pi())
    finally:
        if counter.is_counting:
            counter.is_counting = False
            counter.save()


if __name__ == "__main__":
    main()
