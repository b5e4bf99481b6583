"""The files that a command of a hook names.

Consent covers their content, and a hook whose script is missing must not count as a decision.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from pi.batteries.hooks.definitions import (
    OPERATORS,
    PROJECT_DIR,
    SCRIPT_PROGRAMS,
    SCRIPT_SUFFIXES,
    HookDefinition,
)
from pi.extension import Record


class HookPlaces(Record):
    """The directories that commands refer to."""

    project: Path
    home: Path

    def path(self, word: str) -> Path:
        """Return a word of a command as a path, relative to the project or the home folder."""
        if word.startswith("~/"):
            return self.home / word[2:]
        return self.project / word


def command_words(hook: HookDefinition, project: Path) -> list[str]:
    """Return the words and operators of a command, with ``CLAUDE_PROJECT_DIR`` replaced."""
    command = _with_project(hook.text("command"), project)
    args = hook.options.get("args")
    if isinstance(args, list):
        return [command, *(_with_project(str(word), project) for word in args)]
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote: the shell reports it, but the files are still needed
        return command.split()


def _with_project(text: str, project: Path) -> str:
    for form in (f"${{{PROJECT_DIR}}}", f"${PROJECT_DIR}"):
        text = text.replace(form, str(project))
    return text


def _paths(tokens: list[str], hook_places: HookPlaces) -> Iterator[Path]:
    for word in tokens:
        for part in dict.fromkeys((word, word.partition("=")[2])):
            if part and not OPERATORS.issuperset(part) and "\0" not in part:
                yield hook_places.path(part)


def project_files(hook: HookDefinition, hook_places: HookPlaces) -> list[Path]:
    """Return the files of the project that a command names, without reading them."""
    if hook.type != "command":
        return []
    project = hook_places.project
    roots = (str(project), os.path.realpath(project))
    paths: dict[Path, None] = {}
    for path in _paths(command_words(hook, project), hook_places):
        # By its name and by its link target: either may be in the project, and change there.
        forms = (os.path.normpath(path), os.path.realpath(path))
        if path.is_file() and any(_is_below(form, roots) for form in forms):
            paths[Path(forms[0])] = None
    return list(paths)


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return any(Path(path).is_relative_to(root) for root in roots)


def missing_script(hook: HookDefinition, hook_places: HookPlaces) -> Path | None:
    """Return the script that a command would run first, if it does not exist.

    ``python3 missing.py`` exits with 2, which would count as a decision to block.
    """
    script = _first_script(command_words(hook, hook_places.project))
    if script is None or "$" in script or "`" in script:
        return None
    path = hook_places.path(script)
    return None if path.exists() else path


def _first_script(tokens: list[str]) -> str | None:
    """Return the script of the first command, if it is a path."""
    rest = iter(tokens)
    program = next((word for word in rest if not _is_assignment(word)), "")
    if "/" in program:
        return program
    if program not in SCRIPT_PROGRAMS:
        return None
    for word in rest:
        if word in ("-c", "-m", "-e", "--eval", "-") or OPERATORS.issuperset(word):
            return None
        if word.startswith("-") or word == "run":
            continue
        return word if "/" in word or Path(word).suffix in SCRIPT_SUFFIXES else None
    return None


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
