"""The suite on other Pythons, each in a checkout of its own below ``.oracles``.

``scripts/oracles`` makes the environments. The conditions are bad on purpose: the path has a
space and the word ``user`` in it, the hang-up signal is ignored as under ``nohup``, the tools for
searching are those of Debian 12, and two busy loops run during the first minutes of the tests on
the first Python. The order of the tests is random, so they slow down other tests each time.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from scripts.workspace import members

OLDEST = (3, 11)
NEWEST_LOOKED_FOR = 20
FOLDER = ".oracles"
TOOLS = "debian-12/usr/bin"
"""Below the folder: programs of an older distribution."""
BUSY_LOOP = """
import time
end = time.monotonic() + 300
while time.monotonic() < end:
    pass
"""
"""Ends early: a suite under load takes twice the time, and ``./test --full`` has one hour."""


@dataclass(frozen=True)
class Python:
    """An interpreter other than the one of ``.venv``."""

    version: str
    program: str
    checkout: Path

    @property
    def environment(self) -> Path:
        """Its virtual environment."""
        return self.checkout / ".venv"


def others(root: Path) -> list[Python]:
    """Every Python on PATH or in pyenv that pi supports, except the version of .venv."""
    found: dict[str, str] = {}
    for minor in range(OLDEST[1], NEWEST_LOOKED_FOR):
        version = f"3.{minor}"
        if (3, minor) != sys.version_info[:2] and (program := locate(version)):
            found[version] = program
    folder = root / FOLDER
    return [
        Python(version, program, folder / f"a user of {version}")
        for version, program in found.items()
    ]


def locate(version: str) -> str | None:
    """The interpreter of that version, if it runs."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    candidates = [shutil.which(f"python{version}")]
    candidates += map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True))
    for candidate in filter(None, candidates):
        probe = subprocess.run([candidate, "-c", "pass"], check=False, capture_output=True)
        if probe.returncode == 0:
            return candidate
    return None


def prepared(root: Path) -> list[Python]:
    """The other Pythons whose environment fits this checkout."""
    return [each for each in others(root) if fits(root, each)]


def unprepared(root: Path) -> list[str]:
    """Versions of the other Pythons whose environment is missing or outdated."""
    return [each.version for each in others(root) if not fits(root, each)]


def fits(root: Path, python: Python) -> bool:
    """Whether the packages installed there are those that this checkout requires."""
    mark = python.environment / "ready-dev"
    return mark.is_file() and mark.read_text() == fingerprint(root, python)


def fingerprint(root: Path, python: Python) -> str:
    """What is written into an environment that is ready: the packages that it was made for."""
    files = [*(member / "pyproject.toml" for member in members(root)), root / "constraints.txt"]
    return f"{python.checkout}\n{''.join(file.read_text() for file in files)}"


def copy_sources(root: Path, target: Path) -> None:
    """Give ``target`` the files of this checkout, uncommitted ones too, and keep its .venv."""
    target.mkdir(parents=True, exist_ok=True)
    for path in target.iterdir():
        if path.name not in (".venv", ".venv.lock"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        text=True,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "copy"]):
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
        subprocess.run(["git", *identity, *command], cwd=target, check=True)


def run_suite(root: Path, python: Python, *, busy_loops: int) -> tuple[int, str]:
    """Exit code and output of the tests there."""
    copy_sources(root, python.checkout)
    tools = root / FOLDER / TOOLS
    environment = dict(os.environ, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    with ExitStack() as stack:
        for _ in range(busy_loops):
            busy = subprocess.Popen([sys.executable, "-c", BUSY_LOOP])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        finished = subprocess.run(
            [python.environment / "bin" / "python", "scripts/check.py", "--tests"],
            cwd=python.checkout,
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=ignore_hang_up,
            check=False,
        )
    return finished.returncode, finished.stdout


def ignore_hang_up() -> None:
    """What ``nohup`` does."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
