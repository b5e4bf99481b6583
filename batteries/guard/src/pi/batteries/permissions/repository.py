"""Which programs a repository makes git run: hooks, filters, text converters.

The configuration of a repository can name programs that even ``git status`` runs, and its folder
may come from a stranger. Such a repository needs a question where others need none.
"""

from __future__ import annotations

import re
from pathlib import Path

from pi.batteries.permissions.git_index import submodules
from pi.extension import Record

_LINE = r"^[ \t]*(?:\[(?:[^\]\n\"]|\"(?:[^\"\\\n]|\\.)*\")*\][ \t]*)?"
"""The beginning of a line with a key, also behind the name of its section."""
_RUNS_PROGRAMS = re.compile(
    _LINE + r"(?:textconv|external|command|clean|smudge|process|program"
    r"|attributesfile|editor|pager|(?:fsmonitor[ \t]*=(?![ \t]*\"?(?:true|false)\"?[ \t]*$)))"
    r"[ \t]*(?:=|(?<==))|^[ \t]*\[[ \t]*(?:include|pager|gpg)",
    re.IGNORECASE | re.MULTILINE,
)
"""Keys and sections of a configuration that name programs, or further configurations."""
_LAZY = re.compile(
    _LINE + r"(?:promisor|partialclone)[ \t]*(?:=|\n|\Z)", re.IGNORECASE | re.MULTILINE
)
"""Keys with which ``git show`` fetches what is missing."""
_FETCHES_BY_PROGRAM = re.compile(
    _LINE + r"(?:sshcommand|uploadpack|gitproxy|helper|askpass|vcs)[ \t]*="
    r"|^[ \t]*\[[ \t]*protocol|ext::",
    re.IGNORECASE | re.MULTILINE,
)
"""Keys and sections with which a fetch runs a program."""
_HOOKS_PATH = re.compile(
    _LINE + r"hookspath[ \t]*=[ \t]*\"?([^\"\n]*?)\"?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_OF_READERS = "post-index-change"
"""The hook that ``git status`` runs."""


_MAX_REPOSITORIES = 50
"""Maximum of submodules that are looked at."""


class ProjectRepository(Record):
    """A repository that contains a folder."""

    root: Path
    git_dir: Path


def repository_of(folder: Path) -> ProjectRepository | str | None:
    """The repository that git finds from ``folder``, ``None``, or why it is not known."""
    for candidate in (folder, *folder.parents):
        entry = candidate / ".git"
        try:
            if entry.is_file():
                target = entry.read_text("utf-8", "replace").partition("gitdir:")[2].strip()
                return ProjectRepository(root=candidate, git_dir=candidate / target)
            if entry.is_dir():
                return ProjectRepository(root=candidate, git_dir=entry)
            if all((candidate / name).exists() for name in ("HEAD", "objects", "refs")):
                return f"{candidate} is a repository without a work tree"
        except OSError as error:
            return f"{entry} cannot be read: {error}"
    return None


def program_reason(folder: Path, home: Path, *, changes: bool) -> str:
    """Return why git may run a program that a repository names; empty if it runs none.

    ``changes`` is for commands that change the repository: these run its hooks.
    """
    repository = repository_of(folder)
    if repository is None:
        return ""
    if isinstance(repository, str):
        return repository
    return _reason_of_all(repository, home, changes=changes)


def _reason_of_all(repository: ProjectRepository, home: Path, *, changes: bool) -> str:
    """Return the reason of a repository or of its submodules, in which git runs itself."""
    remaining, count = [repository], 0
    while remaining and (count := count + 1) <= _MAX_REPOSITORIES:
        current = remaining.pop()
        try:
            if reason := _reason(current, home, changes=changes):
                return reason
            for path in submodules(current.root / ".git"):
                if (current.root / path / ".git").exists():
                    inner = repository_of(current.root / path)
                    remaining += [inner] if isinstance(inner, ProjectRepository) else []
        except (OSError, ValueError) as error:
            return f"{current.git_dir} cannot be read: {error}"
    return "it has many submodules" if remaining else ""


def _reason(repository: ProjectRepository, home: Path, *, changes: bool) -> str:
    git_dir = repository.git_dir
    common = git_dir
    if (file := git_dir / "commondir").is_file():
        common = git_dir / file.read_text("utf-8", "replace").strip()
    hooks = common / "hooks"
    own = [common / "config", git_dir / "config.worktree"]
    for config in (home / ".gitconfig", home / ".config/git/config", *own):
        text = config.read_text("utf-8", "replace") if config.is_file() else ""
        # Programs in the user's own configuration are the user's.
        if config in own and (match := _RUNS_PROGRAMS.search(text)):
            return f"{config} names a program ({match[0].strip()})"
        if config in own and _LAZY.search(text) and (match := _FETCHES_BY_PROGRAM.search(text)):
            return f"{config} names a program for fetching ({match[0].strip()})"
        for path in _HOOKS_PATH.findall(text):
            hooks = repository.root / Path(path).expanduser()
    if not hooks.is_dir():
        return ""
    names = [entry.name for entry in hooks.iterdir() if entry.suffix != ".sample"]
    active = [name for name in names if changes or name.startswith(_OF_READERS)]
    return f"git runs the hook {hooks / sorted(active)[0]}" if active else ""
