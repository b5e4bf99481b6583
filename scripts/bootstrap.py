"""Make ``.venv`` fit this checkout: called by ./pi and ./test when it does not.

Standard library only: nothing is installed yet when this runs. The text that identifies what
is to be installed arrives on standard input; it is stored as ``.venv/ready-<kind>`` at the very
end, so an install that was interrupted or failed is never taken for a finished one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
KINDS = ("core", "dev")
"""Each kind includes the ones before it."""


class CannotInstall(Exception):
    """The install failed; the message names the missing part and what to do, in one line."""


def main() -> int:
    """Install what is missing; the exit code is 0 when ``.venv`` is ready."""
    kind, command = sys.argv[1], sys.argv[2]
    fingerprint = sys.stdin.read()
    try:
        with only_one_at_a_time(command):
            if not is_ready(kind, fingerprint):
                prepare(kind, fingerprint, command)
    except CannotInstall as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"{command}: cannot write {error.filename or VENV}: {error.strerror}",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print(
            f"\n{command}: interrupted; the next ./{command} starts the install over.",
            file=sys.stderr,
        )
        return 130
    return 0


@contextmanager
def only_one_at_a_time(command: str) -> Iterator[None]:
    """Hold the checkout's install lock, so that two first runs do not write into one folder."""
    with (ROOT / ".venv.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{command}: waiting for another install of this checkout…", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_ready(kind: str, fingerprint: str) -> bool:
    """Whether another process finished this very install while we waited for the lock."""
    ready = VENV / f"ready-{kind}"
    return ready.is_file() and ready.read_text() == fingerprint and PYTHON.exists()


def prepare(kind: str, fingerprint: str, command: str) -> None:
    """Create or update ``.venv``, then mark it ready."""
    print(f"{command}: installing into .venv (once; needs the package index)…", file=sys.stderr)
    finished = [VENV / f"ready-{name}" for name in KINDS]
    usable = PYTHON.exists() and any(
        # The first line is the checkout's path: scripts of a moved .venv name the old one.
        mark.is_file() and mark.read_text().startswith(f"{ROOT}\n")
        for mark in finished
    )
    for mark in finished:
        mark.unlink(missing_ok=True)
    if not usable:
        create_venv()
    install(requirements(kind))
    order_import_path()
    for name in KINDS[: KINDS.index(kind) + 1]:
        (VENV / f"ready-{name}").write_text(fingerprint)


def create_venv() -> None:
    """Make a fresh, empty environment; what an interrupted install left is removed."""
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)
    result = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(VENV)],
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        reason = (result.stderr or result.stdout).strip().splitlines()[-1:]
        raise CannotInstall(
            f"{sys.executable} cannot make a virtual environment "
            f"({' '.join(reason)}); install Python's venv module and run again."
        )


def order_import_path() -> None:
    """Put the folders of a start first on the import path, as ``pyproject.toml`` lists them.

    The installer sorts them, and ``pi --version`` would look through those of all batteries.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = project["tool"]["hatch"]["build"]["dev-mode-dirs"]
    text = "\n".join(str(ROOT / folder) for folder in folders)
    for path in VENV.glob("lib/python*/site-packages/_pi_harness.pth"):
        path.write_text(text)


def requirements(kind: str) -> list[str]:
    """The packages to install, as arguments of an installer."""
    # pip is part of it: `pi models pull` and `pi install` call it later.
    core = constrained("pip", "--editable", str(ROOT))
    if kind == "core":
        return core
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return [*core, *groups["dev"], *groups["oracles"]]


def constrained(*packages: str) -> list[str]:
    """``packages`` in the exact versions that this checkout was tested with."""
    return [*packages, "--constraint", str(ROOT / "constraints.txt")]


def install(packages: list[str]) -> None:
    """Run the first installer that works: uv, this Python's pip, or the one ensurepip brings."""
    tried = []
    for name, commands in installers(packages):
        tried.append(name)
        if all(run(command) for command in commands):
            return
    if tried:
        raise CannotInstall(
            f"{' and '.join(tried)} could not install the dependencies (the reason is above); "
            "check the network or the package index, then run again."
        )
    raise CannotInstall(
        f"{sys.executable} has neither pip nor ensurepip; install pip or uv and run again."
    )


def installers(packages: list[str]) -> Iterator[tuple[str, list[list[str]]]]:
    """Name and commands of each installer that this machine has, the fastest first."""
    venv_pip = [str(PYTHON), "-m", "pip", "install", "-qq"]
    if uv := shutil.which("uv"):
        yield "uv", [[uv, "pip", "install", "--quiet", "--python", str(PYTHON), *packages]]
    if has_module(sys.executable, "pip"):
        # Our own pip first: the `pi` script that an older one writes starts 5 ms later.
        bring = [sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "-qq"]
        yield "pip", [[*bring, *constrained("pip")], [*venv_pip, *packages]]
    elif has_module(str(PYTHON), "ensurepip"):
        yield "pip", [[str(PYTHON), "-m", "ensurepip"], [*venv_pip, *packages]]


def run(command: list[str]) -> bool:
    """Whether ``command`` succeeded; its output goes to standard error."""
    # A group of its own: Ctrl+C is for us alone, and no traceback of pip reaches the user.
    # It has to wait until we know which process to end.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    installer = subprocess.Popen(
        command, env=clean_environment(), stdout=sys.stderr, start_new_session=True
    )
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return installer.wait() == 0
    except BaseException:
        os.killpg(installer.pid, signal.SIGKILL)
        installer.wait()
        raise


def has_module(python: str, module: str) -> bool:
    """Whether ``python`` could import ``module``."""
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", probe], check=False).returncode == 0


def clean_environment() -> dict[str, str]:
    """The caller's environment without settings that would install somewhere else."""
    foreign = {
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PIP_REQUIRE_VIRTUALENV",
        "PIP_PYTHON",
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
    }
    return {name: value for name, value in os.environ.items() if name not in foreign}


if __name__ == "__main__":
    sys.exit(main())
