"""How a server is started: its program, and the project files that it would execute."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from pi.batteries.lsp.config import ServerRow
from pi.extension import ConsentRequest, Json, Record, replace

LOCAL_FOLDERS = ("node_modules/.bin", ".venv/bin", "venv/bin", ".venv/Scripts", "vendor/bin")
"""Folders with programs of a project."""
KIND = "language server"


class Launch(Record):
    """A server that can be started."""

    row: ServerRow
    root: Path
    program: Path
    consent: ConsentRequest | None = None
    """Set if the server would execute code of the project: the user has to allow it."""
    no_diagnostics: str = ""
    """Why the server reports no diagnostics; empty if it does."""

    @property
    def key(self) -> str:
        """Identify the process: launches with the same key share it."""
        identity = [str(self.program), *self.row.args, self.row.init_options, self.row.settings]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]
        return f"{self.row.name}:{self.root}:{digest}"


def launches(
    row: ServerRow, root: Path, *, project: Path, environ: Mapping[str, str], user_dir: Path
) -> list[Launch]:
    """The ways to start a server, the best first: a program on PATH, then one of the project."""
    candidates: list[Launch] = []
    for program in _programs(row.command, (root, project), environ):
        if not _fits_typescript(row, program, root):
            continue
        launch = Launch(
            row=row, root=root, program=program, no_diagnostics=_no_diagnostics(row, environ)
        )
        candidates.append(_with_consent(launch, project, user_dir))
    return candidates


def _programs(command: str, folders: Iterable[Path], environ: Mapping[str, str]) -> list[Path]:
    roots = dict.fromkeys(folders)
    if "/" in command or "\\" in command:
        named = [root / Path(command).expanduser() for root in roots]
        return [program for program in named if program.is_file()][:1]
    programs = []
    if program := shutil.which(command, path=environ.get("PATH", "")):
        programs.append(Path(program).absolute())
    local = [root / name for root in roots for name in LOCAL_FOLDERS]
    for folder in local:
        if program := shutil.which(command, path=str(folder)):
            programs.append(Path(program))
    return list(dict.fromkeys(programs))


def _no_diagnostics(row: ServerRow, environ: Mapping[str, str]) -> str:
    needed = row.diagnostics_program
    if not needed or shutil.which(needed, path=environ.get("PATH", "")):
        return ""
    hint = f" Install it: {row.diagnostics_install}." if row.diagnostics_install else ""
    return f"{row.name} reports no diagnostics, because {needed} is not installed.{hint}"


def _fits_typescript(row: ServerRow, program: Path, root: Path) -> bool:
    """Whether the server supports the project's version of TypeScript."""
    if not row.typescript:
        return True
    package = root / "node_modules/typescript/package.json"
    if row.command.endswith("tsc"):
        package = program.resolve().parent.parent / "package.json"
    try:
        version = str(json.loads(package.read_text(encoding="utf-8")).get("version", ""))
    except (OSError, ValueError, AttributeError):
        return row.typescript != ">=7"
    number = re.match(r"\d+", version)
    is_seven = number is not None and int(number[0]) >= 7
    return is_seven == (row.typescript == ">=7")


def _with_consent(launch: Launch, project: Path, user_dir: Path) -> Launch:
    """The launch with a request for consent, if the project or a foreign file affects it."""
    row = launch.row
    files: Json = {}
    sources: list[str] = []
    if row.source and row.defines and not Path(row.source).is_relative_to(user_dir):
        sources.append(row.source)
    for program in dict.fromkeys((launch.program, launch.program.resolve())):
        if is_below(program, (project, launch.root)):
            files[str(program)] = _hash(program)
            sources.append(str(program))
    for name in row.project_files:
        if (path := launch.root / name).is_file():
            files[name] = _hash(path)
            sources.append(str(path))
    if not sources:
        return launch
    definition: Json = {"command": str(launch.program), "args": list(row.args)}
    if files:
        definition["files"] = files
    if row.init_options:
        definition["initOptions"] = row.init_options
    if row.settings:
        definition["settings"] = row.settings
    request = ConsentRequest(kind=KIND, name=row.name, source=sources[0], definition=definition)
    return replace(launch, consent=request)


def is_below(program: Path, folders: Iterable[Path]) -> bool:
    """Whether a program is in one of the folders, or in their link targets."""
    resolved = [parent for folder in folders for parent in (folder, folder.resolve())]
    return any(program.is_relative_to(parent) for parent in resolved)


def _hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "unreadable"
