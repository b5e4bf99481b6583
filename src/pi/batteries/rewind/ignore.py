"""Ignore files: which paths of a project are not covered. The patterns are those of git. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

FILES = (".gitignore", ".ignore")
"""The names of ignore files; the last one wins."""
REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})
"""Version control keeps its own history, which must not be mixed with another."""
DEPENDENCIES = frozenset(
    {
        *("node_modules", "__pycache__", ".venv", ".tox", ".nox", ".direnv"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)
"""Folders that programs fill and can fill again; not covered even if no ignore file names them."""
NEVER = REPOSITORIES | DEPENDENCIES


class _Pattern(NamedTuple):
    text: str
    """A regular expression."""
    on_path: bool
    """Whether it matches the whole path below the ignore file, or the name only."""
    folders_only: bool
    negated: bool


class IgnoreRules:
    """The patterns of one ignore file."""

    def __init__(self, prefix: str, patterns: Sequence[_Pattern]) -> None:
        self._cut = len(prefix)
        # Most files have no exceptions. Then the order is irrelevant, and one expression will do.
        self._groups = (
            [patterns] if not any(p.negated for p in patterns) else [[p] for p in patterns]
        )
        self._compiled = [_compiled(group) for group in reversed(self._groups)]

    def decide(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """Whether a path is ignored; ``None`` if no pattern matches."""
        below = path[self._cut :]
        for negated, on_name, on_path, folder_name, folder_path in self._compiled:
            if (
                (on_name and on_name.fullmatch(name))
                or (on_path and on_path.fullmatch(below))
                or (is_folder and folder_name and folder_name.fullmatch(name))
                or (is_folder and folder_path and folder_path.fullmatch(below))
            ):
                return not negated
        return None


def is_ignored(rules: Iterable[IgnoreRules], path: str, name: str, *, is_folder: bool) -> bool:
    """Whether a path is ignored; ``rules`` come from the innermost folder outwards."""
    if name in NEVER:
        return True
    for each in rules:
        if (decision := each.decide(path, name, is_folder=is_folder)) is not None:
            return decision
    return False


def parse_ignore(text: str, prefix: str) -> IgnoreRules:
    """The rules of an ignore file in the folder ``prefix``: empty, or ``a/b/``."""
    found = (_parsed(line) for line in text.splitlines())
    return IgnoreRules(prefix, [each for each in found if each is not None])


_Compiled = tuple[
    bool,
    re.Pattern[str] | None,
    re.Pattern[str] | None,
    re.Pattern[str] | None,
    re.Pattern[str] | None,
]


def _compiled(group: Sequence[_Pattern]) -> _Compiled:
    def joined(*, on_path: bool, folders_only: bool) -> re.Pattern[str] | None:
        texts = [p.text for p in group if p.on_path is on_path and p.folders_only is folders_only]
        return re.compile("|".join(f"(?:{text})" for text in texts), re.DOTALL) if texts else None

    return (
        bool(group) and group[0].negated,
        joined(on_path=False, folders_only=False),
        joined(on_path=True, folders_only=False),
        joined(on_path=False, folders_only=True),
        joined(on_path=True, folders_only=True),
    )


def _parsed(line: str) -> _Pattern | None:
    line = re.sub(r"(?<!\\)[ \t]+$", "", line.removeprefix("\ufeff").rstrip("\r\n"))
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    folders_only = line.endswith("/") and not line.endswith("\\/")
    line = line.rstrip("/") if folders_only else line
    on_path = "/" in line
    line = line.removeprefix("/")
    try:
        text = _translated(line)
        re.compile(text)
    except re.error:
        return None  # git ignores broken patterns, too
    return _Pattern(text, on_path, folders_only, negated) if line else None


def _translated(glob: str) -> str:
    out, i = "", 0
    while i < len(glob):
        char = glob[i]
        if glob.startswith("**/", i) and (i == 0 or glob[i - 1] == "/"):
            out, i = f"{out}(?:.*/)?", i + 3
        elif glob.startswith("/**", i) and i + 3 == len(glob):
            out, i = f"{out}/.+", i + 3
        elif char == "*":
            out, i = f"{out}[^/]*", i + 1
            while i < len(glob) and glob[i] == "*":
                i += 1
        elif char == "?":
            out, i = f"{out}[^/]", i + 1
        elif char == "[" and (end := _class_end(glob, i)) > 0:
            inner = glob[i + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            inner = f"^{inner[1:]}" if inner.startswith("!") else inner
            out, i = f"{out}(?!/)[{inner}]", end + 1
        elif char == "\\" and i + 1 < len(glob):
            out, i = out + re.escape(glob[i + 1]), i + 2
        else:
            out, i = out + re.escape(char), i + 1
    return out


def _class_end(glob: str, start: int) -> int:
    """The index of the ``]`` that ends a class; 0 if there is none."""
    first = start + 2 if glob[start + 1 : start + 2] in ("!", "^") else start + 1
    return glob.find("]", first + 1) if first < len(glob) else 0
