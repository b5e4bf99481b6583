"""What is parsed, and by what: the source files of a call, and the child process with the parser.

The process is started when it is first needed.
"""

from __future__ import annotations

import fnmatch
from pathlib import PurePath

from pi.extension import (
    SYNTAX_LANGUAGES,
    ExtensionAPI,
    PiError,
    Record,
    ToolFailed,
    WorkerProcess,
    can_parse_syntax,
    syntax_language,
)

MAX_FILES = 5000
"""Files of one call."""
MAX_BYTES = 1_000_000
"""Larger files are skipped: they are generated, and a parser needs 0.5 s for as many."""
SKIPPED = ("node_modules", "__pycache__", "target", "dist", "build", "venv")
"""Folders that are skipped outside of a git repository, like those with a dot."""
SECONDS = 10.0
"""Time limit of one file."""
INSTALL = "pip install 'pi-harness[rules]'"
_ALIASES = {
    "c#": "csharp",
    "c++": "cpp",
    "cs": "csharp",
    "golang": "go",
    "js": "javascript",
    "jsx": "javascript",
    "kt": "kotlin",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "bash",
    "shell": "bash",
    "terraform": "hcl",
    "ts": "typescript",
    "yml": "yaml",
}


class SourceFile(Record):
    """A file that can be parsed."""

    path: str
    """Relative to the working folder if it is below it."""
    text: str
    language: str


async def source_files(pi: ExtensionAPI, path: str, language: str, glob: str) -> list[SourceFile]:
    """The files of a call in order. Raises ``ToolFailed`` if there is none."""
    chosen = _checked_language(language) if language.strip() else ""
    names = await _names(pi, path)
    if glob:
        names = [each for each in names if _fits(each, glob)]
    # A single file may have any suffix if the call names the language.
    alone = len(names) == 1 and names[0] == path
    languages = {name: syntax_language(name) or (chosen if alone else "") for name in names}
    languages = {
        name: found for name, found in languages.items() if found and chosen in ("", found)
    }
    if not languages:
        file_kind = f"{chosen} files" if chosen else "files in a supported language"
        raise ToolFailed(
            f"There are no {file_kind} at {path}" + (f" that match {glob}." if glob else ".")
        )
    if len(languages) > MAX_FILES:
        raise ToolFailed(
            f"{path} has {len(languages):,} source files; at most {MAX_FILES:,} are parsed."
        )
    contents = await pi.context.files.read_many(languages, most=MAX_BYTES)
    files = []
    for name, data in contents.items():
        if isinstance(data, bytes):
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                continue  # writing it back would damage it
            files.append(SourceFile(path=name, text=text, language=languages[name]))
    return files


def _checked_language(name: str) -> str:
    """The language that ``name`` stands for. Raises ``ToolFailed`` if the parser has none."""
    plain = name.strip().lower()
    found = _ALIASES.get(plain, plain)
    if found not in SYNTAX_LANGUAGES:
        known = ", ".join(SYNTAX_LANGUAGES)
        raise ToolFailed(f"Unsupported language {name!r}. Supported: {known}.")
    return found


def _fits(name: str, glob: str) -> bool:
    return fnmatch.fnmatch(name, glob) or fnmatch.fnmatch(PurePath(name).name, glob)


async def _names(pi: ExtensionAPI, path: str) -> list[str]:
    files = pi.context.files
    place = files.resolve(path)
    if place.is_file():
        return [path]
    if not place.is_dir():
        raise ToolFailed(f"There is no file or folder {path}.")
    prefix = "" if path in (".", "./", "") else f"{path.rstrip('/')}/"
    listed = await _listed_by_git(pi, str(place))
    if listed is not None:
        return [f"{prefix}{name}" for name in listed]
    try:
        stamps = await files.scan(path, skip=_is_skipped)
    except PiError as error:
        raise ToolFailed(error.message) from error
    return [f"{prefix}{name}" for name in stamps]


async def _listed_by_git(pi: ExtensionAPI, folder: str) -> list[str] | None:
    """The files that git does not ignore; ``None`` outside of a repository, or without git."""
    command = ["git", "-C", folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = await pi.exec(command, timeout=30)
    except PiError:
        return None
    if listed.code != 0:
        return None
    return sorted({name for name in listed.stdout.split("\0") if name})


def _is_skipped(name: str) -> bool:
    last = PurePath(name).name
    return name.endswith("/") and (last.startswith(".") or last in SKIPPED)


class TreeMatch(Record):
    """One match in a text: a span of characters, and the lines it covers, counted from 1."""

    start: int
    end: int
    line: int
    last_line: int
    new: str = ""
    """What replaces it, if there is a rewrite."""


class TreeParser:
    """The process. It is replaced if a parser crashes or takes too long."""

    def __init__(self, pi: ExtensionAPI, *, seconds: float = SECONDS) -> None:
        function = "pi.batteries.ast_tools.parser_process:answers"
        self._worker = WorkerProcess(pi, function, kind="matcher")
        self._seconds = seconds

    async def find(
        self, text: str, language: str, pattern: str, rewrite: str | None = None
    ) -> list[TreeMatch]:
        """The matches of a pattern. Raises ``ToolFailed`` if the pattern is invalid."""
        require_parser()
        request = {"text": text, "language": language, "pattern": pattern, "rewrite": rewrite}
        try:
            found = await self._worker.ask(request, seconds=self._seconds)
        except PiError as error:
            raise ToolFailed(error.message) from error
        if not found:
            raise ToolFailed(
                f"Parsing {language} failed or took longer than {self._seconds:g} s."
                " Use a narrower path, or grep."
            )
        (answer,) = found
        if "error" in answer:
            raise ToolFailed(f"The pattern {pattern!r} is invalid ({language}): {answer['error']}")
        return [
            TreeMatch(
                start=each["start"],
                end=each["end"],
                line=each["line"],
                last_line=each["lastLine"],
                new=each.get("new", ""),
            )
            for each in answer["matches"]
        ]


def require_parser() -> None:
    """Raise ``ToolFailed`` if the library for syntax trees is not installed."""
    if not can_parse_syntax():
        raise ToolFailed(f"Syntax trees need the package ast-grep-py. Install it with: {INSTALL}")
