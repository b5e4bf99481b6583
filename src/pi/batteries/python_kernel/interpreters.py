"""Which interpreter runs the cells, and which variables it gets. Starts nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from pi.extension import ConsentRequest, PiError, Record

MANAGED = Path(".pi", "python-env")
"""The environment of pi's kernels below the home directory."""


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
        """What the user is asked about an interpreter of the project.

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
    for found in _pythons(cwd, environ, chosen):
        if allows_project or not found.is_project:
            return found
    raise NoInterpreter(
        "No Python interpreter was found.",
        hint="Install Python 3, activate a virtual environment, or set python.interpreter.",
    )


def _pythons(cwd: Path, environ: Mapping[str, str], chosen: str) -> Iterator[Interpreter]:
    def found(path: Path, venv: Path | None = None) -> Interpreter:
        # The path as it is written: a link in the project may change what it leads to.
        inside = Path(os.path.normpath(path)).is_relative_to(cwd)
        return Interpreter(path=str(path), venv=str(venv or ""), is_project=inside)

    if chosen:
        path = cwd / Path(chosen).expanduser()
        yield found(path, _venv_of(path))
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    active = environ.get("VIRTUAL_ENV")
    folders = [cwd / active] if active else []
    folders += [cwd / ".venv", cwd / "venv"]
    folders += [Path(home) / MANAGED] if home else []
    for folder in folders:
        path = _python_in(folder)
        if _is_program(path):
            yield found(path, folder)
    for name in ("python3", "python"):
        for program in _on_path(name, environ):
            yield found(program, _venv_of(program))


def find_javascript(cwd: Path, environ: Mapping[str, str]) -> str:
    """Return Node, or Bun if there is no Node, from PATH; never one of the project."""
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
"""Never passed on: keys, and what describes the session to a command."""


def kernel_environment(
    environ: Mapping[str, str], interpreter: Interpreter | None = None
) -> dict[str, str]:
    """Return the variables that a kernel gets beside the few that every program gets.

    ``environ`` is that of commands. Its names do not show which variables ``models.json`` uses for
    keys and headers: ``"apiKey": "$PI_WORK"`` makes ``PI_WORK`` a secret.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if re.fullmatch(_PASSED_ON, name) and not re.fullmatch(_SECRET, name)
    }
    if interpreter is None:
        return kept
    kept["PYTHONUNBUFFERED"] = "1"  # of programs that cells start
    if interpreter.venv:
        kept["VIRTUAL_ENV"] = interpreter.venv
        folders = [str(Path(interpreter.path).parent), environ.get("PATH", "")]
        kept["PATH"] = os.pathsep.join(each for each in folders if each)
        kept.pop("PYTHONHOME", None)
    else:
        kept.pop("VIRTUAL_ENV", None)  # its environment was not used
    return kept


def _python_in(venv: Path) -> Path:
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def _venv_of(path: Path) -> Path | None:
    folder = path.parent.parent
    return folder if (folder / "pyvenv.cfg").is_file() else None


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
