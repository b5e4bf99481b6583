"""Decides which commands of git only read. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.base.records import Record
from pi.coding.shell.command_line.parts import CommandWord


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READERS = _split(
    "status log show diff blame annotate ls-files ls-tree rev-parse rev-list describe shortlog"
    " grep cat-file name-rev merge-base for-each-ref show-ref diff-tree diff-index diff-files"
    " count-objects whatchanged range-diff cherry show-branch check-ignore check-attr version"
)
_WRITING_LONG = (
    *("--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters"),
    "--help",  # ``man.viewer`` of the repository names a program
)
_GLOBAL = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
_GLOBAL_ALONE = frozenset({"--version", "--help"})


class _Listing(Record):
    """A command of git that lists something unless it has other arguments."""

    first: frozenset[str] = frozenset()
    """Words of which one must be the first argument; empty if none has to be."""
    options: frozenset[str] = frozenset()
    """Options that change nothing."""
    valued: str = r"(?!)"
    """Options with a value, as a pattern."""
    searching: str = r"(?!)"
    """Options with which operands are patterns and nothing is created, as a pattern."""


_COLUMNS = r"--(?:sort|format|color|column|abbrev)(?:=.*)?"
_SEARCHES = r"--(?:list|contains|no-contains|merged|no-merged|points-at)(?:=.*)?|-l"
_LISTS: dict[str, _Listing] = {
    "branch": _Listing(
        options=_split("-a -r -v -vv --all --remotes --list -l --show-current --no-color -i"),
        valued=_COLUMNS,
        searching=_SEARCHES,
    ),
    "tag": _Listing(options=_split("-l --list -n -i"), valued=_COLUMNS, searching=_SEARCHES),
    "remote": _Listing(options=_split("-v --verbose")),
    "stash": _Listing(first=_split("list show"), options=_split("-p --stat --name-only"),
                      searching=r"list|show"),
    "worktree": _Listing(first=_split("list"), options=_split("--porcelain -v")),
    "submodule": _Listing(first=_split("status"), options=_split("--recursive --cached")),
    "reflog": _Listing(options=_split("show -n"), valued=r"-\d+|-n\d+|\d+|--(?:date|format)=.*",
                       searching=r"show"),
    "config": _Listing(
        first=_split("--get --get-all --get-regexp --list -l list get"),
        options=_split("--local --global --system --show-origin --show-scope --name-only -z"),
        searching=r"--get|--get-all|--get-regexp|get",
    ),
    "notes": _Listing(first=_split("list show"), searching=r"list|show"),
    "bisect": _Listing(first=_split("log view")),
    "sparse-checkout": _Listing(first=_split("list")),
}  # fmt: skip


def git_change(git_arguments: Sequence[CommandWord]) -> str:
    """Return why ``git`` with these arguments may change something or run programs."""
    remaining = list(git_arguments)
    while remaining and (remaining[0].literal or "").startswith("-"):
        option = remaining.pop(0).literal
        if option in _GLOBAL_ALONE and not remaining:
            return ""
        if option == "-C" and remaining:
            if remaining.pop(0).literal is None:
                return "the folder of git -C is not known in advance"
        elif option not in _GLOBAL:
            return f"git {option} may run programs"
    if not remaining:
        return ""
    command, arguments = remaining[0].literal or remaining[0].raw, remaining[1:]
    if command in _READERS:
        return _reader_problem(command, arguments)
    return _listing_problem(command, arguments)


def _reader_problem(command: str, arguments: Sequence[CommandWord]) -> str:
    for word in arguments:
        text = word.literal
        if text == "--":
            break
        if text is None:
            if word.may_be_option:
                return f"{word.raw} may become an option of git {command}"
        elif text.startswith("--"):
            option = text.partition("=")[0]
            if any(risk.startswith(option) for risk in _WRITING_LONG):
                return f"git {command} {option} writes or runs programs"
        elif command == "grep" and text.startswith("-") and "O" in text:
            return f"git {command} {text} may run programs"
    return ""


def _listing_problem(command: str, arguments: Sequence[CommandWord]) -> str:
    listing = _LISTS.get(command)
    texts = [word.literal for word in arguments]
    if listing is None or (listing.first and (not texts or texts[0] not in listing.first)):
        return f"git {command} is not known to only read"
    searches = [text for text in texts if text and re.fullmatch(listing.searching, text)]
    is_search = any(text.startswith("-") for text in searches) or texts[:1] == searches[:1] != []
    for position, (word, text) in enumerate(zip(arguments, texts, strict=True)):
        if position == 0 and listing.first:
            continue
        if text is None:
            if word.may_be_option or not is_search:
                return f"git {command} {word.raw} may change the repository"
        elif text in listing.options or re.fullmatch(listing.valued, text):
            continue
        elif text.startswith("-"):
            if not re.fullmatch(listing.searching, text):
                return f"git {command} {text} may change the repository"
        elif not is_search:
            return f"git {command} {text} may change the repository"
    return ""
