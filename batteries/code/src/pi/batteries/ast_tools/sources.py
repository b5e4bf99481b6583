"""The source files of a call: which files of a folder can be parsed, and their text."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import PurePath

from pi.extension import (
    SYNTAX_LANGUAGES,
    ExtensionAPI,
    PiError,
    Record,
    ToolFailed,
    syntax_language,
)
from pi.extension.guards import git_command

MAX_FILES = 5000
"""Maximum files of one call."""
MAX_BYTES = 1_000_000
"""Larger files are skipped: they are usually generated, and parsing this size takes 0.5 s."""
SKIPPED = ("node_modules", "__pycache__", "target", "dist", "build", "venv")
"""Folders that are skipped outside of a git repository, in addition to hidden ones."""


class SourceFile(Record):
    """A file that can be parsed."""

    path: str
    """As the call names it: relative paths are relative to the working folder."""
    text: str
    language: str


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


async def source_files(pi: ExtensionAPI, path: str, language: str, glob: str) -> list[SourceFile]:
    """The files of a call in order, without those that are too large or not UTF-8.

    Raises ``ToolFailed`` if no file matches, or too many.
    """
    chosen = _checked_language(language) if language.strip() else ""
    names = await _names(pi, path)
    if glob:
        names = [n for n in names if fnmatch(n, glob) or fnmatch(PurePath(n).name, glob)]
    # A single file may have any suffix if the call names the language.
    alone = len(names) == 1 and names[0] == path
    languages = {
        name: detected
        for name in names
        if (detected := syntax_language(name) or (chosen if alone else ""))
        and chosen in ("", detected)
    }
    if not languages:
        file_kind = f"{chosen} files" if chosen else "files in a supported language"
        condition = f" that match {glob}" if glob else ""
        raise ToolFailed(f"There are no {file_kind} at {path}{condition}.")
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
                continue  # writing the file back would damage it
            files.append(SourceFile(path=name, text=text, language=languages[name]))
    return files


def _checked_language(name: str) -> str:
    """The language with this name or alias. Raises ``ToolFailed`` if it is unsupported."""
    plain = name.strip().lower()
    syntax = _ALIASES.get(plain, plain)
    if syntax not in SYNTAX_LANGUAGES:
        supported = ", ".join(SYNTAX_LANGUAGES)
        raise ToolFailed(f"Unsupported language {name!r}. Supported: {supported}.")
    return syntax


async def _names(pi: ExtensionAPI, path: str) -> list[str]:
    files = pi.context.files
    target = files.resolve(path)
    if target.is_file():
        return [path]
    if not target.is_dir():
        raise ToolFailed(f"There is no file or folder {path}.")
    prefix = "" if path in (".", "./", "") else f"{path.rstrip('/')}/"
    listed = await _listed_by_git(pi, str(target))
    if listed is not None:
        return [f"{prefix}{name}" for name in listed]
    try:
        stamps = await files.scan(path, skip=_is_skipped)
    except PiError as error:
        raise ToolFailed(error.message) from error
    return [f"{prefix}{name}" for name in stamps]


async def _listed_by_git(pi: ExtensionAPI, folder: str) -> list[str] | None:
    """The files that git does not ignore; ``None`` outside of a repository, or without git."""
    command = git_command(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    try:
        listed = await pi.exec(command, cwd=folder, timeout=30)
    except PiError:
        return None
    return sorted(set(filter(None, listed.stdout.split("\0")))) if listed.code == 0 else None


def _is_skipped(name: str) -> bool:
    last = PurePath(name).name
    return name.endswith("/") and (last.startswith(".") or last in SKIPPED)
