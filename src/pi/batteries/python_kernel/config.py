"""Settings and variables of the kernel, and the interpreter that they choose. Starts nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from pi.extension import ExtensionAPI, PiError, Record

ToolMode: TypeAlias = Literal["ipy-only", "bash-only", "both"]
KernelMode: TypeAlias = Literal["session", "per-call"]

_BOTH = ("1", "true", "yes", "on", "mix", "both")
"""Values of ``PI_PY`` that enable the tool beside bash."""


class NoInterpreter(PiError):
    """No Python interpreter was found."""


class KernelConfig(Record):
    """What the settings and variables say."""

    tool_mode: ToolMode = "bash-only"
    kernel_mode: KernelMode = "session"
    interpreter: str = ""
    """``python.interpreter``: a path; empty to search for one."""
    traced: bool = False
    """Whether frames are logged (``PI_PYTHON_IPC_TRACE``)."""
    checked: bool = True
    """Whether an interpreter must be found before the tool is offered."""


class DeclaredSettings(Protocol):
    """Where settings are declared: ``pi.settings``."""

    def declare(self, key: str, kind: type[Any], default: Any, help: str = "") -> None:
        """Declare a setting."""
        ...


def declare(settings: DeclaredSettings) -> None:
    """Declare the settings."""
    settings.declare("eval.py", bool, default=False, help="Give models a Python kernel.")
    settings.declare("python.toolMode", str, default="", help="ipy-only, bash-only or both.")
    settings.declare("python.kernelMode", str, default="session", help="session or per-call.")
    settings.declare("python.interpreter", str, default="", help="Path of the interpreter.")


def read_config(pi: ExtensionAPI, *, selected: bool) -> KernelConfig:
    """Return the configuration; ``selected`` if ``--tools`` or ``defaultTools`` names the tool."""
    environ, settings = pi.context.environ, pi.settings
    mode = tool_mode(
        environ.get("PI_PY", ""),
        settings.get("python.toolMode"),
        enabled=settings.get("eval.py") or selected,
    )
    per_call = settings.get("python.kernelMode") == "per-call"
    return KernelConfig(
        tool_mode=mode,
        kernel_mode="per-call" if per_call else "session",
        interpreter=settings.get("python.interpreter"),
        traced=environ.get("PI_PYTHON_IPC_TRACE") == "1",
        checked=environ.get("PI_PYTHON_SKIP_CHECK") != "1",
    )


def tool_mode(variable: str, setting: str, *, enabled: bool) -> ToolMode:
    """Return which of bash and python models get. ``PI_PY`` overrides the settings."""
    variable = variable.strip().lower()
    if variable in _BOTH:
        return "both"
    if variable:
        # "0", "bash" and every other value switch it off.
        return "ipy-only" if variable == "py" else "bash-only"
    if setting in ("ipy-only", "bash-only", "both"):
        return setting  # type: ignore[return-value]
    return "both" if enabled else "bash-only"


class Interpreter(Record):
    """An interpreter that was found."""

    path: str
    venv: str = ""
    """The folder of its virtual environment; empty if it has none."""
    is_project: bool = False
    """Whether it belongs to the project, so that running it needs trust."""


def find_interpreter(
    cwd: Path, environ: Mapping[str, str], *, chosen: str = "", trusted: bool
) -> Interpreter:
    """Return the interpreter: chosen, ``VIRTUAL_ENV``, ``.venv``, ``venv``, then PATH.

    Interpreters of a project are its code: they are skipped unless the project is trusted. Raises
    ``NoInterpreter``.
    """
    if chosen:
        path = cwd / Path(chosen).expanduser()
        if not _is_program(path):
            raise NoInterpreter(
                f"python.interpreter is not a program: {path}.", hint="Correct the setting."
            )
        return Interpreter(path=str(path), venv=_venv_of(path))
    if active := environ.get("VIRTUAL_ENV"):
        path = _python_in(Path(active))
        if _is_program(path):
            return Interpreter(path=str(path), venv=active)
    if trusted:
        for folder in (cwd / ".venv", cwd / "venv"):
            path = _python_in(folder)
            if _is_program(path):
                return Interpreter(path=str(path), venv=str(folder), is_project=True)
    # Relative folders of PATH are folders of the project.
    path_folders = environ.get("PATH", "").split(os.pathsep)
    folders = [each for each in path_folders if Path(each).is_absolute()]
    for name in ("python3", "python"):
        if found := shutil.which(name, path=os.pathsep.join(folders)):
            return Interpreter(path=found)
    raise NoInterpreter(
        "No Python interpreter was found.",
        hint="Install Python 3, activate a virtual environment, or set python.interpreter.",
    )


_PASSED_ON = (
    r"VIRTUAL_ENV|PYTHON(PATH|HOME|UTF8|IOENCODING|WARNINGS)|CONDA_(PREFIX|DEFAULT_ENV)|PI_.*"
)
_SECRET = (
    r".*(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)S?(_.*)?"
    r"|PI_(SESSION_.*|PROVIDER|MODEL|REASONING_LEVEL|CHILD_ID)"
)
"""Never passed on: keys, and what describes the session to a command."""


def kernel_environment(interpreter: Interpreter, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the kernel gets beside the few that every program gets.

    Everything else is withheld, so that no key of a provider is in ``os.environ``.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if re.fullmatch(_PASSED_ON, name) and not re.fullmatch(_SECRET, name)
    }
    kept["PYTHONUNBUFFERED"] = "1"  # of programs that cells start
    if interpreter.venv:
        kept["VIRTUAL_ENV"] = interpreter.venv
        folders = [str(Path(interpreter.path).parent), environ.get("PATH", "")]
        kept["PATH"] = os.pathsep.join(each for each in folders if each)
        kept.pop("PYTHONHOME", None)
    return kept


def _python_in(venv: Path) -> Path:
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def _venv_of(path: Path) -> str:
    folder = path.parent.parent
    return str(folder) if (folder / "pyvenv.cfg").is_file() else ""


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
