"""Which commands destroy, publish or take over what cannot be taken back. Pure, but for links.

A question about them says so, defaults to No, and offers no lasting answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.batteries.permissions.commands import base_name, words_of
from pi.batteries.permissions.paths import BaseFolders, is_below, touched
from pi.extension.guards import CommandPart, CommandWord

_RECURSIVE = re.compile(r"-[A-Za-z]*[rR][A-Za-z]*|--recursive")
_OF_FOLDERS = {
    "rm": "deletes",
    "chmod": "changes the rights of",
    "chown": "changes the owner of",
    "chgrp": "changes the group of",
}
"""Programs that are dangerous with ``-r`` outside of the project, or for all of it."""
FOLDERS = "folders outside of the project, or the project itself"
_ALWAYS = {
    **dict.fromkeys(
        ("sudo", "doas", "su", "pkexec", "run0"), "runs with the rights of another user"
    ),
    **dict.fromkeys(("dd", "shred", "wipefs", "fdisk", "sfdisk", "parted"), "overwrites data"),
    **dict.fromkeys(("shutdown", "reboot", "halt", "poweroff"), "stops the machine"),
    **dict.fromkeys(("pkill", "killall"), "ends all processes of a name, also those of others"),
    "dropdb": "deletes a database",
}
_SUBCOMMANDS: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "git": (
        (
            re.compile(r"push .*(?<!\S)(-[A-Za-z]*f|--force|--mirror)"),
            "overwrites what others pushed",
        ),
        (re.compile(r"push .*(?<!\S)\+\S"), "overwrites what others pushed"),
        (re.compile(r"push .*(?<!\S)(-d|--delete|--prune|:\S)"), "deletes branches of the server"),
        (re.compile(r"reset .*--hard"), "discards changes"),
        (re.compile(r"clean .*(-[A-Za-z]*f|--force)"), "deletes files that git does not know"),
        (
            re.compile(r"(checkout|switch) .*(?<!\S)(-f|--force|--discard-changes)"),
            "discards changes",
        ),
        (re.compile(r"checkout (.* )?(--|\.)( |$)"), "discards changes"),
        (re.compile(r"restore (?!.*--staged)"), "discards changes"),
        (re.compile(r"branch .*(?<!\S)(-D|--delete --force|-df|-d -f)"), "deletes commits"),
        (re.compile(r"stash (drop|clear)"), "deletes stashed changes"),
        (
            re.compile(r"reflog (expire|delete)|filter-branch|filter-repo|update-ref .*-d"),
            "deletes commits",
        ),
    ),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "cargo", "poetry", "uv", "hatch", "flit", "pdm"),
        ((re.compile(r"publish( |$)|npm publish"), "publishes a version for everybody"),),
    ),
    "twine": ((re.compile(r"upload "), "publishes a version for everybody"),),
    "gem": ((re.compile(r"(push|yank) "), "publishes or withdraws a version"),),
    **dict.fromkeys(
        ("terraform", "tofu", "pulumi"),
        ((re.compile(r"(apply|destroy|up)( |$)"), "changes or deletes what runs elsewhere"),),
    ),
    "kubectl": ((re.compile(r"(delete|drain) "), "deletes what runs elsewhere"),),
    "helm": ((re.compile(r"(uninstall|delete) "), "deletes what runs elsewhere"),),
    **dict.fromkeys(
        ("docker", "podman"),
        ((re.compile(r"(\w+ prune|volume rm)"), "deletes images, containers or volumes"),),
    ),
    "gh": ((re.compile(r"(repo|release|secret|gist) delete"), "deletes it at GitHub"),),
    "crontab": ((re.compile(r".*-r"), "deletes all scheduled commands"),),
}
_VALUED_OPTIONS = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--prefix", "-n", "--namespace"}
)
"""Options before a subcommand that are followed by a value."""


def danger(parts: Sequence[CommandPart], folders: Sequence[str], base_folders: BaseFolders) -> str:
    """Return what a line does that cannot be taken back, for the user; empty if nothing is known.

    ``folders`` are those in which its parts may run.
    """
    for part in parts:
        if what := _danger(part, folders, base_folders):
            return f"{' '.join(words_of(part)[:1])} {what}."
    return ""


def _danger(part: CommandPart, folders: Sequence[str], base_folders: BaseFolders) -> str:
    name = base_name(part.name or "")
    if name.startswith("mkfs"):
        return "overwrites data"
    if name in _ALWAYS:
        return _ALWAYS[name]
    if name in _OF_FOLDERS:
        return f"{_OF_FOLDERS[name]} {FOLDERS}" if _reaches_out(part, folders, base_folders) else ""
    arguments = words_of(part)[1:]
    if name == "find" and "-delete" in arguments:
        return "deletes what it finds"
    text = " ".join([*_from_subcommand(arguments), ""])
    return next((what for pattern, what in _SUBCOMMANDS.get(name, ()) if pattern.match(text)), "")


def _from_subcommand(arguments: Sequence[str]) -> Sequence[str]:
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        index += 2 if arguments[index] in _VALUED_OPTIONS else 1
    return arguments[index:] or arguments


def _reaches_out(part: CommandPart, folders: Sequence[str], base_folders: BaseFolders) -> bool:
    """Whether a program that works on whole folders may leave the project, or take all of it."""
    if not any(_RECURSIVE.fullmatch(word.literal or "") for word in part.arguments):
        return False
    operands = [word for word in part.arguments if not (word.literal or " ").startswith("-")]
    return part.more_arguments or any(
        _is_outside(word, folder, base_folders) for word in operands for folder in folders
    )


def _is_outside(word: CommandWord, cwd: str, base_folders: BaseFolders) -> bool:
    if word.literal is None:
        # ``build/*`` stays in the project; ``*`` is all of it, and ``$X/a`` anything.
        begin = word.prefix.rpartition("/")[0]
        if not begin or set(word.expands) != {"glob"}:
            return True
        return not _is_inside(begin, cwd, base_folders)
    return not _is_inside(word.literal, cwd, base_folders)


def _is_inside(text: str, cwd: str, base_folders: BaseFolders) -> bool:
    real = touched(text, cwd, base_folders).real
    project = touched(".", base_folders.session_cwd or base_folders.cwd, base_folders).real
    return is_below(real, project) and real != project
