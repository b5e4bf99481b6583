"""The ``pi`` command.

``--version`` answers before anything is imported: people put it into shell prompts and scripts,
and it is the first thing a newcomer waits for.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from pi import __version__

_MOST_NAMED = 500
"""Characters of the list of programs that go on."""


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the program and return its exit code.

    Whatever goes wrong is told in one line, and what to do in another; ``PI_DEBUG=1`` shows where
    it comes from.
    """
    if arguments is not None:
        streams = sys.stdout, sys.stderr
        try:
            return _main(list(arguments), environ)
        finally:
            sys.stdout, sys.stderr = streams  # they belong to the caller
    code = _main(sys.argv[1:], environ)
    _list_what_goes_on()
    _leave_hanging_threads(code)
    return code


def _main(words: list[str], environ: Mapping[str, str]) -> int:
    _have_standard_streams()
    try:
        code = _run(words, environ)
        sys.stdout.flush()  # here, where a pipe that has closed can be dealt with
        return code
    except BrokenPipeError:
        # The reader has gone, e.g. `pi models | head`; what is left to flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _die_of_interrupt()
    except Exception as problem:
        if environ.get("PI_DEBUG"):
            raise
        sys.stderr.write(_told(problem, environ))
        return 1


def _run(words: list[str], environ: Mapping[str, str]) -> int:
    if words[:1] in (["-v"], ["--version"]):
        sys.stdout.write(f"{__version__}\n")
        return 0
    _sanitise_standard_streams()
    gc.disable()  # what modules leave behind is no garbage: looking for some is a tenth of a start
    try:
        from pi.cli.quick_imports import quick_imports  # all this costs more than --version

        with quick_imports():
            if environ.get("PI_TIMING") or environ.get("PI_DEBUG_STARTUP"):
                from pi.cli.timing import run_with_timing  # who asks does not mind one module more

                return run_with_timing(lambda: _dispatch(words, environ), environ)
            return _dispatch(words, environ)
    finally:
        gc.enable()


def _dispatch(words: list[str], environ: Mapping[str, str]) -> int:
    from pi.modes.phases import phase

    with phase("cli:load:dispatch"):
        from pi.cli.dispatch import dispatch

    return dispatch(words, environ)


def _told(problem: Exception, environ: Mapping[str, str]) -> str:
    """What a person reads: what happened, and what to do next on a line of its own."""
    if isinstance(problem, FileNotFoundError) and _is_nowhere():
        return "Error: The current directory does not exist any more.\nGo to another one first.\n"
    message = getattr(problem, "message", None)
    if message is None:
        what = repr(problem)
        if isinstance(problem, OSError) and problem.filename:
            what = f"{problem.strerror}: {problem.filename}"
        return f"Error: {what}\n{_kept(problem, environ)}PI_DEBUG=1 shows where it comes from.\n"
    hint = getattr(problem, "hint", "")
    return f"Error: {message}\n" + (f"{hint}\n" if hint else "")


def _is_nowhere() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - most command lines need no paths
    except FileNotFoundError:
        return True
    return False


def _kept(problem: Exception, environ: Mapping[str, str]) -> str:
    from pi.cli.crashes import log_crash  # seldom needed, and not cheap

    try:
        return f"It is in {log_crash(problem, environ)}; "
    except Exception:  # what is told is the first problem, not that it cannot be kept
        return ""


def _have_standard_streams() -> None:
    """Have all three, also for who closed one: another file would take its number otherwise."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            setattr(sys, name, open(fd, "r" if fd == 0 else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no bug


def _sanitise_standard_streams() -> None:
    """Let nothing that is printed command the terminal: names of files can hold anything."""
    from pi.base.terminal_text import SanitisedStream  # --version does not pay for it

    setattr(sys, "stdout", SanitisedStream(sys.stdout))  # noqa: B010 - it is no TextIO to mypy
    setattr(sys, "stderr", SanitisedStream(sys.stderr))  # noqa: B010


def _list_what_goes_on() -> None:
    """Name the programs that outlive us because an extension wanted it; all others have ended."""
    if "pi.base.processes.child" not in sys.modules:
        return  # there were none
    from pi.base.processes.child import left_running
    from pi.base.terminal_text import one_line

    if left := left_running():
        text = one_line(", ".join(left))
        shown = text if len(text) <= _MOST_NAMED else f"{text[: _MOST_NAMED - 1]}…"
        sys.stderr.write(f"Still running, detached by extensions: {shown}\n")


def _leave_hanging_threads(code: int) -> None:
    """End here if a thread hangs: Python would wait for it."""
    if "pi.cli.process" not in sys.modules:
        return  # there were no threads
    from pi.cli.process import running_threads

    if running_threads():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _die_of_interrupt() -> int:
    """End as Ctrl+C ends any program, so that a shell script that runs us stops too."""
    import signal

    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 130
