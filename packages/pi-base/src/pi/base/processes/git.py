"""The command lines of the git that pi itself runs. Pure.

The configuration of a repository can name programs, and a repository may come from a stranger. pi
runs none of them: no hooks, no file system monitor, no external diff, text converter or filter. The
user's own configuration keeps its effect, such as the filters of git-lfs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.base.errors import PiError


class RepositoryProgram(PiError):
    """The configuration of a repository names a program that would run."""


_OFF = (
    "core.fsmonitor=false", "core.pager=cat", "core.editor=true", "sequence.editor=true",
    "core.alternateRefsCommand=", "submodule.recurse=false",
)  # fmt: skip
_DIFFS = frozenset({
    "diff", "log", "show", "diff-tree", "diff-index", "diff-files", "format-patch", "whatchanged",
})  # fmt: skip
"""Commands that run external diffs and text converters unless options keep them from it."""
GIT_PROGRAMS_QUERY = (
    "config", "--null", "--show-scope", "--get-regexp",
    r"^(filter\..*|merge\..*\.driver|gpg\..*|core\.(sshcommand|gitproxy|askpass)"
    r"|credential\..*|remote\..*\.(receivepack|uploadpack|vcs|proxy)|url\..*|protocol\..*)$",
)  # fmt: skip
"""Arguments of git that list the programs of a configuration; reading it runs none."""
_MERGE = "git merge-file --marker-size=%L %A %O %B"
"""What git does with a text file without a driver."""


def git_programs(listing: str) -> tuple[str, ...]:
    """Return the keys of the repository's own configuration that name programs.

    ``listing`` is the output of ``GIT_PROGRAMS_QUERY``: pairs of a scope, and a key with its value.
    """
    fields = listing.split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    keys = (pair.partition("\n")[0] for scope, pair in pairs if scope in ("local", "worktree"))
    return tuple(dict.fromkeys(keys))


def git_command(
    arguments: Sequence[str],
    *,
    options: Sequence[str] = (),
    programs: Sequence[str] = (),
    hooks: bool = False,
) -> list[str]:
    """Return the command line for ``git`` with these arguments, with no program of a repository.

    Raises ``RepositoryProgram`` for a filter that cannot be switched off.

    ``options`` precede the command. ``programs`` are the keys of ``git_programs``. A command that
    changes or compares files of the working tree needs them, because filters have names that only
    the configuration knows. ``hooks`` is true if the user wants those of the repository.
    """
    settings = [*_OFF, *([] if hooks else ["core.hooksPath=/dev/null"])]
    for key in programs:
        settings += _switched_off(key)
    switches = [text for setting in settings for text in ("-c", setting)]
    command, *others = arguments
    quiet = ["--no-ext-diff", "--no-textconv"] if command in _DIFFS else []
    return ["git", "--no-pager", *switches, *options, command, *quiet, *others]


def _switched_off(key: str) -> list[str]:
    if "=" in key:  # cannot be set with -c
        raise RepositoryProgram(
            f"The repository names a program as {key}, which cannot be switched off.",
            hint="Remove it from .git/config.",
        )
    section, _, name = key.partition(".")
    subsection = name.rpartition(".")[0]
    if section == "filter" and subsection:
        values = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
        return [f"filter.{subsection}.{option}={value}" for option, value in values]
    if section == "merge":
        return [f"{key}={_MERGE}"]
    if section == "gpg":
        programs = {"program": "gpg", "ssh.program": "ssh-keygen", "x509.program": "gpgsm"}
        programs |= {"openpgp.program": "gpg", "ssh.defaultkeycommand": ""}
        return [f"gpg.{name}={programs[name]}"] if name in programs else []
    return []


_REMOTE = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass)|(?:credential|remote|url|protocol)\..*"
)


def remote_programs(programs: Sequence[str]) -> tuple[str, ...]:
    """The keys that decide which programs a connection to another repository runs."""
    return tuple(key for key in programs if _REMOTE.fullmatch(key))
