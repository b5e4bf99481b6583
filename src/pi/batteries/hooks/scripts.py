"""Which files the command of a hook runs: hashed for consent, and looked up before it starts."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from pi.batteries.hooks.definitions import HookDefinition
from pi.extension import ExtensionContext, FileFailed, Record

PROJECT_DIR = "CLAUDE_PROJECT_DIR"
_INTERPRETERS = frozenset(
    {"python", "python3", "bash", "sh", "zsh", "node", "bun", "deno", "ruby", "perl", "tsx", "php"}
)
_SUFFIXES = frozenset({".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"})
_OPERATORS = frozenset(";&|()<>")
_MAX_SCRIPT_BYTES = 16 * 1024 * 1024
UNREADABLE = "unreadable"


class HookPlaces(Record):
    """The directories that commands refer to."""

    project: Path
    home: Path

    def path(self, word: str) -> Path:
        """Return the path that a word of a command stands for."""
        if word.startswith("~/"):
            return self.home / word[2:]
        return self.project / word


def command_words(hook: HookDefinition, project: Path) -> list[str]:
    """Return the words of a command, with the project's folder put in and operators kept."""
    command = _with_project(hook.text("command"), project)
    args = hook.options.get("args")
    if isinstance(args, list):
        return [command, *(_with_project(str(word), project) for word in args)]
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote: the shell will complain, the files still count
        return command.split()


def _with_project(text: str, project: Path) -> str:
    for form in (f"${{{PROJECT_DIR}}}", f"${PROJECT_DIR}"):
        text = text.replace(form, str(project))
    return text


def _paths(words: list[str], places: HookPlaces) -> Iterator[Path]:
    for word in words:
        for part in dict.fromkeys((word, word.partition("=")[2])):
            if part and not _OPERATORS.issuperset(part) and "\0" not in part:
                yield places.path(part)


def project_files(hook: HookDefinition, places: HookPlaces) -> list[Path]:
    """Return the files of the project that a command names; only names are looked up."""
    if hook.type != "command":
        return []
    project = places.project
    roots = (str(project), os.path.realpath(project))
    found: dict[Path, None] = {}
    for path in _paths(command_words(hook, project), places):
        # By its name and by what it links to: both can be changed in the project.
        forms = (os.path.normpath(path), os.path.realpath(path))
        if path.is_file() and any(_is_below(form, roots) for form in forms):
            found[Path(forms[0])] = None
    return list(found)


def _is_below(place: str, roots: tuple[str, ...]) -> bool:
    return any(Path(place).is_relative_to(root) for root in roots)


async def content_hashes(files: list[Path], ctx: ExtensionContext) -> dict[str, str]:
    """Return the hash of each file's content by its path; consent is bound to it."""
    hashes: dict[str, str] = {}
    for path in files:
        name = str(path.relative_to(ctx.cwd) if path.is_relative_to(ctx.cwd) else path)
        try:
            data = await ctx.files.read_file(str(path), most=_MAX_SCRIPT_BYTES)
        except FileFailed:
            hashes[name] = UNREADABLE
        else:
            hashes[name] = hashlib.sha256(data).hexdigest()
    return hashes


def missing_script(hook: HookDefinition, places: HookPlaces) -> Path | None:
    """Return the script that a command would run first, if it does not exist.

    ``python3 missing.py`` exits with 2, which would read as a decision to block everything.
    """
    script = _first_script(command_words(hook, places.project))
    if script is None or "$" in script or "`" in script:
        return None
    path = places.path(script)
    return None if path.exists() else path


def _first_script(words: list[str]) -> str | None:
    """Return the script of the first command, if it is a path."""
    rest = iter(words)
    program = next((word for word in rest if not _is_assignment(word)), "")
    if "/" in program:
        return program
    if program not in _INTERPRETERS:
        return None
    for word in rest:
        if word in ("-c", "-m", "-e", "--eval", "-") or _OPERATORS.issuperset(word):
            return None
        if word.startswith("-") or word == "run":
            continue
        return word if "/" in word or Path(word).suffix in _SUFFIXES else None
    return None


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
