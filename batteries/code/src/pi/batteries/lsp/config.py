"""The table of servers: known ones, changed and extended by configuration files.

Later files win. Files of the user are read first, then those of the project; in both, the files of
other agents are read before the files of pi.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pi.base.formats import parse_jsonc, parse_toml
from pi.extension import BadFormat, Json, Record, field, parse_yaml, replace

NAMES = tuple(f"{dot}lsp.{suffix}" for dot in ("", ".") for suffix in ("json", "yaml", "yml"))
OTHER_AGENTS = (".gemini", ".codex", ".claude")
PROJECT_FOLDERS = (*OTHER_AGENTS, "", ".pi")
"""Folders of the project in the order of reading; the last wins."""
MAX_FILE = 1_000_000
LANGUAGES = {
    suffix: language
    for language, suffixes in {
        "python": ".py .pyi",
        "typescript": ".ts .mts .cts",
        "typescriptreact": ".tsx",
        "javascript": ".js .mjs .cjs",
        "javascriptreact": ".jsx",
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .c++ .hh .hpp .hxx",
        "objective-c": ".m",
        "objective-cpp": ".mm",
        "cuda": ".cu",
        "rust": ".rs",
        "ruby": ".rb",
        "shellscript": ".sh",
        "yaml": ".yml",
        "kotlin": ".kt .kts",
        "csharp": ".cs",
        "fsharp": ".fs",
        "elixir": ".ex .exs",
        "erlang": ".erl",
        "haskell": ".hs",
        "ocaml": ".ml",
        "markdown": ".md",
        "perl": ".pl .pm",
        "powershell": ".ps1",
        "julia": ".jl",
        "clojure": ".clj",
        "clojurescript": ".cljs",
        "solidity": ".sol",
        "verilog": ".v",
        "systemverilog": ".sv",
        "graphql": ".gql",
        "html": ".htm",
        "zig": ".zon",
        "go.mod": "go.mod",
        "go.work": "go.work",
    }.items()
    for suffix in suffixes.split()
}
"""Language identifiers by suffix or name, where they differ from the suffix."""


class ServerRow(Record):
    """The configuration of a language server: how it is started, and for which files."""

    name: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    file_types: tuple[str, ...] = ()
    language_id: str = ""
    language_ids: dict[str, str] = field(default_factory=dict)
    root_markers: tuple[str, ...] = ()
    needs_marker: bool = False
    is_linter: bool = False
    first: bool = False
    """Whether the server is preferred to others if its marker exists."""
    disabled: bool = False
    init_options: Json = field(default_factory=dict)
    settings: Json = field(default_factory=dict)
    project_files: tuple[str, ...] = ()
    typescript: str = ""
    diagnostics: str = ""
    diagnostics_program: str = ""
    """A program without which the server reports no diagnostics."""
    diagnostics_install: str = ""
    multiplex: bool = False
    warmup_timeout_ms: int = 20_000
    idle_timeout_ms: int = 600_000
    index_progress: str = ""
    """The token of the progress that a server reports while it indexes the project.

    Without an index the server knows only the files that were opened."""
    index_hint: str = ""
    """What the server needs for an index."""
    install: str = ""
    source: str = ""
    """The configuration file that adds or changes the server; empty for an unchanged one."""
    defines: bool = False
    """Whether that file sets a field of ``EXECUTED``."""

    def matches(self, path: Path) -> bool:
        """Whether the server is for this file, by its suffix or name."""
        return path.suffix in self.file_types or path.name in self.file_types

    def language(self, path: Path) -> str:
        """The language identifier of a file."""
        for key in (path.name, path.suffix):
            if key in self.language_ids:
                return self.language_ids[key]
        if self.language_id:
            return self.language_id
        for key in (path.name, path.suffix):
            if key in LANGUAGES:
                return LANGUAGES[key]
        return path.suffix.removeprefix(".").lower() or path.name.lower()


FIELDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "command": ("command", lambda v: isinstance(v, str) and bool(v)),
    "args": ("args", lambda v: _is_texts(v)),
    "fileTypes": ("file_types", lambda v: _is_texts(v)),
    "languageId": ("language_id", lambda v: isinstance(v, str)),
    "languageIds": ("language_ids", lambda v: isinstance(v, dict)),
    "rootMarkers": ("root_markers", lambda v: _is_texts(v)),
    "needsMarker": ("needs_marker", lambda v: isinstance(v, bool)),
    "isLinter": ("is_linter", lambda v: isinstance(v, bool)),
    "first": ("first", lambda v: isinstance(v, bool)),
    "disabled": ("disabled", lambda v: isinstance(v, bool)),
    "initOptions": ("init_options", lambda v: isinstance(v, dict)),
    "settings": ("settings", lambda v: isinstance(v, dict)),
    "projectFiles": ("project_files", lambda v: _is_texts(v)),
    "typescript": ("typescript", lambda v: v in ("", "<7", ">=7")),
    "diagnostics": ("diagnostics", lambda v: v in ("", "tsserver")),
    "diagnosticsProgram": ("diagnostics_program", lambda v: isinstance(v, str)),
    "diagnosticsInstall": ("diagnostics_install", lambda v: isinstance(v, str)),
    "multiplex": ("multiplex", lambda v: isinstance(v, bool)),
    "warmupTimeoutMs": ("warmup_timeout_ms", lambda v: _is_count(v)),
    "idleTimeoutMs": ("idle_timeout_ms", lambda v: _is_count(v)),
    "indexProgress": ("index_progress", lambda v: isinstance(v, str)),
    "indexHint": ("index_hint", lambda v: isinstance(v, str)),
    "install": ("install", lambda v: isinstance(v, str)),
}
EXECUTED = frozenset({"command", "args", "initOptions", "settings"})
"""Fields that determine what is executed: a project that sets one of them needs consent."""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@cache
def known_servers() -> dict[str, ServerRow]:
    """The servers that come with pi, in order of preference."""
    text = Path(__file__).with_name("servers.toml").read_text(encoding="utf-8")
    return {
        name: _changed(ServerRow(name=name), table, "", [])
        for name, table in parse_toml(text).items()
    }


class Servers(Record):
    """All servers of a session."""

    rows: tuple[ServerRow, ...]
    problems: tuple[str, ...] = ()

    def matching(self, path: Path) -> tuple[ServerRow, ...]:
        """The servers for a file, in order of preference."""
        return tuple(row for row in self.rows if not row.disabled and row.matches(path))


def config_files(cwd: Path, home: Path, agent_dir: Path, *, trusted: bool) -> list[Path]:
    """Paths of possible configuration files, the least important first."""
    folders = [home / name for name in OTHER_AGENTS]
    folders += [agent_dir, *(cwd / name for name in PROJECT_FOLDERS if trusted and cwd != home)]
    return [folder / name for folder in folders for name in NAMES]


def load_servers(files: Iterable[tuple[Path, str]]) -> Servers:
    """The known servers with the changes of these files, given as path and text."""
    rows, problems = dict(known_servers()), list[str]()
    for path, text in files:
        try:
            content = parse_jsonc(text) if path.suffix == ".json" else parse_yaml(text)
        except BadFormat as error:
            problems.append(f"Cannot read {path}: {error.message}")
            continue
        servers = content.get("servers", content) if isinstance(content, dict) else None
        if not isinstance(servers, dict):
            problems.append(f"Cannot read {path}: it is not an object of servers.")
            continue
        for name, table in servers.items():
            if not isinstance(table, dict):
                if name != "idleTimeoutMs":
                    problems.append(f"{path}: {name} is not an object.")
                continue
            row = rows.get(name, ServerRow(name=name))
            rows[name] = _changed(row, table, str(path), problems)
    complete = {}
    for name, row in rows.items():
        if not row.disabled and not (row.command and row.file_types):
            problems.append(f"{row.source}: the server {name} needs command and fileTypes.")
            continue
        complete[name] = row
    own_first = sorted(complete.values(), key=lambda row: not (row.source and row.defines))
    return Servers(rows=tuple(own_first), problems=tuple(problems))


def _changed(
    row: ServerRow, table: Mapping[str, Any], source: str, problems: list[str]
) -> ServerRow:
    changes: dict[str, Any] = {}
    for key, value in table.items():
        if key not in FIELDS:
            problems.append(f"{source}: unknown field {key} of the server {row.name}.")
        elif not FIELDS[key][1](value):
            problems.append(f"{source}: invalid value of {key} of the server {row.name}.")
        else:
            changes[FIELDS[key][0]] = tuple(value) if isinstance(value, list) else value
    if source:
        changes["source"] = source
        changes["defines"] = row.defines or not EXECUTED.isdisjoint(table)
    return replace(row, **changes)


# Roots --------------------------------------------------------------------------------------------


def root_of(row: ServerRow, path: Path, cwd: Path) -> Path | None:
    """The root folder of a server; ``None`` if the server is not for this project.

    It is the repository, so that there is not one server for each of its packages. For a server
    that needs a marker, it is the outermost folder inside that has one.
    """
    parents = list(path.parents)
    repository = next((folder for folder in parents if (folder / ".git").exists()), None)
    top = repository or (cwd if cwd in parents else None)
    if top is None:
        top = next((folder for folder in parents if has_marker(row, folder)), path.parent)
    inside = parents[: parents.index(top) + 1]
    marked = [folder for folder in inside if has_marker(row, folder)]
    if row.needs_marker:
        return marked[-1] if marked else None
    return top


def has_marker(row: ServerRow, folder: Path) -> bool:
    """Whether a folder has one of the markers."""
    for marker in row.root_markers:
        if "*" in marker:
            try:
                names = [path.name for path in folder.iterdir()]
            except OSError:
                continue
            if fnmatch.filter(names, marker):
                return True
        elif (folder / marker).exists():
            return True
    return False
