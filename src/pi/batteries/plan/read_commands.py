"""Command lines that only read, for machines without a sandbox. Pure.

A line is allowed if every part of it is known to change nothing. What is not understood is refused:
variables, substitutions, redirections, programs that are not listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pi.extension import CommandPart, CommandWord, Record, Redirection, parse_command

NULL = "/dev/null"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN = _names(
    "cat head wc stat ls du df pwd echo printf test [ true false : cd which type basename"
    " dirname realpath readlink grep egrep fgrep diff cmp comm cut tr nl od fold paste join tac rev"
    " column strings expand unexpand md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum"
    " cksum uname id whoami groups nproc free uptime arch ps jq tail seq"
)
"""Programs that change nothing, whatever their arguments are."""


class _Reader(Record):
    """A program that changes nothing unless one of these options is used."""

    long: tuple[str, ...] = ()
    """Programs also accept the beginning of a long option."""
    short: str = ""
    """Letters, also within a cluster such as ``-uo``."""


_READERS: dict[str, _Reader] = {
    "sort": _Reader(long=("--output", "--compress-program", "--temporary-directory"), short="oT"),
    "rg": _Reader(long=("--pre", "--hostname-bin")),
    "tree": _Reader(long=("--output",), short="oR"),
    "file": _Reader(long=("--compile",), short="C"),
}
_FIND_ACTIONS = (
    "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"
)  # fmt: skip
_SED_PRINT = re.compile(r"\d+(?:,(?:\d+|\$))?p|\$p")
"""The only scripts of ``sed -n`` that are allowed: other commands of sed write files."""

_GIT_READERS = _names(
    "status log show diff blame annotate ls-files ls-tree rev-parse rev-list describe shortlog"
    " grep cat-file name-rev merge-base for-each-ref show-ref diff-tree diff-index diff-files"
    " count-objects whatchanged range-diff cherry show-branch check-ignore check-attr"
)
_GIT_LISTS: dict[str, frozenset[str]] = {
    "branch": frozenset({"-a", "-r", "-v", "-vv", "--all", "--list", "--show-current"}),
    "tag": frozenset({"-l", "-n", "--list"}),
    "remote": frozenset({"-v", "--verbose"}),
    "stash": frozenset({"list"}),
    "worktree": frozenset({"list"}),
    "submodule": frozenset({"status"}),
}
"""Git commands that read with these words alone."""
_GIT_WRITING = _Reader(
    long=("--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters"), short="O"
)
_GIT_GLOBAL = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})

ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # otherwise ``git status`` rewrites the index
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    # The form of ``git -c``: git 2.30 does not know GIT_CONFIG_COUNT. The monitor of files names a
    # program that ``git status`` runs.
    "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor=false' 'core.hooksPath={NULL}'",
}
"""Variables of every command in plan mode."""


def refusal(command: str) -> str:
    """Return why a command line may change something; empty if it only reads."""
    line = parse_command(command)
    if line.unresolved:
        return f"it is not known in advance what it runs ({line.unresolved[0]})"
    if line.has_substitutions:
        return "it contains a substitution"
    for part in line.parts:
        if problem := _part_problem(part):
            return problem
    return ""


def _part_problem(part: CommandPart) -> str:
    for each in part.redirections:
        if not _is_harmless(each):
            return f"it redirects to {each.target.raw or each.operator}"
    if part.assignments:
        return f"it sets {part.assignments[0].name}"
    if part.more_arguments:
        return "arguments are added at run time"
    if not part.words:
        return ""
    name = part.name or ""
    for word in part.arguments:
        if not set(word.expands) <= {"glob", "tilde"}:
            return f"the value of {word.raw} is not known in advance"
    return _program_problem(name, part.arguments)


def _is_harmless(redirection: Redirection) -> bool:
    if redirection.target.literal == NULL:
        return True
    return redirection.operator in (">&", "<&") and not redirection.writes


def _program_problem(name: str, words: Sequence[CommandWord]) -> str:
    if name in _PLAIN:
        return ""
    if name in _READERS:
        return _option_problem(name, words, _READERS[name])
    if name in _CHECKED:
        return _CHECKED[name](words)
    return f"{name} is not in the list of commands that only read"


def _option_problem(name: str, words: Sequence[CommandWord], reader: _Reader) -> str:
    """Return which option lets a program write; a file name may look like one."""
    for word in words:
        text = word.literal
        if text is None:
            if word.may_be_option:
                return f"{word.raw} may become an option of {name}"
            continue
        if text.startswith("--"):
            option = text.partition("=")[0]
            if len(option) > 2 and any(each.startswith(option) for each in reader.long):
                return f"{name} {option} writes or runs programs"
        elif text.startswith("-") and set(reader.short) & set(text[1:]):
            return f"{name} {text} writes"
    return ""


def _find_problem(words: Sequence[CommandWord]) -> str:
    for word in words:
        text = word.literal
        if text is None and word.may_be_option:
            return f"{word.raw} may become an option of find"
        if text in _FIND_ACTIONS:
            return f"find {text} changes files or runs programs"
    return ""


def _date_problem(words: Sequence[CommandWord]) -> str:
    """Only formats: a number sets the clock, and so does ``-s``."""
    texts = [word.literal or "" for word in words]
    if all(text == "-u" or text.startswith("+") for text in texts):
        return ""
    return "date may set the clock"


def _uniq_problem(words: Sequence[CommandWord]) -> str:
    files = [word for word in words if not (word.literal or "").startswith("-")]
    if len(files) > 1 or any(word.literal is None for word in words):
        return "the second file of uniq is written"
    return ""


def _sed_problem(words: Sequence[CommandWord]) -> str:
    texts = [word.literal for word in words]
    if texts[:1] != ["-n"] or len(texts) < 2 or not _SED_PRINT.fullmatch(texts[1] or ""):
        return "only `sed -n 'A,Bp'` is known to read"
    if any(word.may_be_option for word in words[2:]):
        return "sed has further options"
    return ""


def _hostname_problem(words: Sequence[CommandWord]) -> str:
    return "hostname has arguments" if words else ""


def _git_problem(words: Sequence[CommandWord]) -> str:
    rest = list(words)
    while rest and (rest[0].literal or "").startswith("-"):
        option = rest.pop(0).literal
        if option == "-C" and rest:
            rest.pop(0)
        elif option not in _GIT_GLOBAL:
            return f"git {option} may run programs"
    if not rest:
        return ""
    command, arguments = rest[0].literal or rest[0].raw, rest[1:]
    if command in _GIT_READERS:
        return _option_problem(f"git {command}", arguments, _GIT_WRITING)
    return _git_list_problem(command, arguments)


def _git_list_problem(command: str, arguments: Sequence[CommandWord]) -> str:
    known = _GIT_LISTS.get(command, frozenset())
    needs_word = command in ("stash", "worktree", "submodule")
    if not known or (needs_word and not arguments):
        return f"git {command} is not known to only read"
    for word in arguments:
        if word.literal not in known:
            return f"git {command} {word.raw} may change the repository"
    return ""


_CHECKED: dict[str, Callable[[Sequence[CommandWord]], str]] = {
    "find": _find_problem,
    "uniq": _uniq_problem,
    "sed": _sed_problem,
    "date": _date_problem,
    "hostname": _hostname_problem,
    "git": _git_problem,
}
"""Programs whose arguments decide whether they write."""
