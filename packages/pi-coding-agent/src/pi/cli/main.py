"""The ``pi`` command.

``--version`` is answered before anything is imported: it is used in shell prompts and scripts.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from pi.version import __version__

_MAX_NAMED = 500
"""Maximum length of the list of programs that are still running."""


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the program and return its exit code.

    Errors are printed in one line, with a hint on the next; ``PI_DEBUG=1`` prints the traceback.
    """
    if arguments is not None:
        streams = sys.stdout, sys.stderr
        try:
            return _main(list(arguments), environ)
        finally:
            sys.stdout, sys.stderr = streams  # they belong to the caller
    code = _main(sys.argv[1:], environ)
    _list_detached_processes()
    _leave_hanging_threads(code)
    return code


def _main(argv: list[str], environ: Mapping[str, str]) -> int:
    _have_standard_streams()
    try:
        code = _run(argv, environ)
        sys.stdout.flush()  # flushed here, where a closed pipe can be handled
        return code
    except BrokenPipeError:
        # The reader has closed the pipe, e.g. `pi models | head`; the rest of the output is
        # dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _die_of_interrupt()
    except Exception as error:
        if environ.get("PI_DEBUG"):
            raise
        sys.stderr.write(_format_error(error, environ))
        return 1


def _run(argv: list[str], environ: Mapping[str, str]) -> int:
    if argv[:1] in (["-v"], ["--version"]):
        sys.stdout.write(f"{__version__}\n")
        return 0
    gc.disable()  # Import creates no garbage; a collection here costs 10 % of start-up.
    try:
        from pi.cli.quick_imports import quick_imports  # deferred: slower than --version

        with quick_imports():
            _sanitise_standard_streams()  # before anything is printed
            if environ.get("PI_TIMING") or environ.get("PI_DEBUG_STARTUP"):
                from pi.cli.timing import run_with_timing  # deferred: only for timing

                return run_with_timing(lambda: _dispatch(argv, environ), environ)
            return _dispatch(argv, environ)
    finally:
        gc.enable()


def _dispatch(argv: list[str], environ: Mapping[str, str]) -> int:
    from pi.modes.phases import phase  # lazy: --version needs nothing

    with phase("cli:load:dispatch"):
        from pi.cli.dispatch import dispatch  # lazy: as above

    return dispatch(argv, environ)


def _format_error(error: Exception, environ: Mapping[str, str]) -> str:
    """Format an error for the user: what happened, then the hint on a line of its own."""
    if isinstance(error, FileNotFoundError) and _is_cwd_missing():
        return (
            "Error: The current directory no longer exists.\nChange to another directory first.\n"
        )
    message = getattr(error, "message", None)
    if message is None:
        reason = repr(error)
        if isinstance(error, OSError) and error.filename:
            reason = f"{error.strerror}: {error.filename}"
        return f"Error: {reason}\n{_log_problem(error, environ)}PI_DEBUG=1 shows the traceback.\n"
    hint = getattr(error, "hint", "")
    return f"Error: {message}\n" + (f"{hint}\n" if hint else "")


def _is_cwd_missing() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - most command lines need no paths
    except FileNotFoundError:
        return True
    return False


def _log_problem(error: Exception, environ: Mapping[str, str]) -> str:
    from pi.cli.crashes import log_crash

    try:
        return f"Logged in {log_crash(error, environ)}; "
    except Exception:  # report the first error, not that it cannot be logged
        return ""


def _have_standard_streams() -> None:
    """Open the standard streams that are closed, so that no other file gets their numbers."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # opens the lowest free number, which is this one
            setattr(sys, name, open(fd, "r" if fd == 0 else "w", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="replace"
            )  # a name that the terminal cannot encode must not raise


def _sanitise_standard_streams() -> None:
    """Remove terminal control sequences from everything printed: file names can contain them."""
    from pi.base.terminal_text import SanitisedStream  # deferred: --version does not need it

    setattr(sys, "stdout", SanitisedStream(sys.stdout))  # noqa: B010 - it is no TextIO to mypy
    setattr(sys, "stderr", SanitisedStream(sys.stderr))  # noqa: B010


def _list_detached_processes() -> None:
    """List the programs that keep running because an extension detached them."""
    if "pi.base.processes.child" not in sys.modules:
        return  # no process was started
    # Lazy: already loaded if a process was started.
    from pi.base.processes.child import left_running
    from pi.base.terminal_text import one_line

    if running := left_running():
        text = one_line(", ".join(running))
        names = text if len(text) <= _MAX_NAMED else f"{text[: _MAX_NAMED - 1]}…"
        sys.stderr.write(f"Still running, detached by extensions: {names}\n")


def _leave_hanging_threads(code: int) -> None:
    """Exit if a worker thread is blocked: Python would wait for it."""
    if "pi.cli.worker_threads" not in sys.modules:
        return  # no thread was started
    from pi.cli.worker_threads import running_threads

    if running_threads():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _die_of_interrupt() -> int:
    """Exit with the default action of SIGINT, so that a calling shell script stops too."""
    import signal  # lazy: after Ctrl+C only

    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 130
