"""Matches rules with command lines, part by part. Pure.

An allow rule must match a part exactly as it is written. A deny or ask rule also matches other
spellings of the same program; if only the program is certain, the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath

from pi.batteries.permissions.rules import Rule
from pi.extension import Record
from pi.extension.guards import CommandLine, CommandPart, CommandWord, change_reason, parse_command


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


RUNNERS = _names(
    "ssh docker podman kubectl nerdctl lxc vagrant npx bunx uvx pipx make just rake gradle "
    "mvn cmd powershell pwsh wsl osascript"
)
"""Programs whose arguments may be a command for another shell."""
RESOLVED = _names(
    "env sudo doas xargs nice nohup setsid ionice prlimit choom chrt taskset time timeout stdbuf "
    "command builtin exec busybox toybox caffeinate sh bash dash ash ksh mksh rbash zsh find gfind "
    "git awk gawk mawk nawk sed gsed eval trap cp mv rm mkdir rmdir touch ln link unlink chmod "
    "chown chgrp install tee dd truncate sync kill killall pkill gzip gunzip bzip2 bunzip2 xz unxz "
    "zstd unzip tar curl export declare typeset local readonly unset read set shift cd pushd popd "
    "alias sort uniq xxd shuf iconv rg fd fdfind tree file yq date umask ulimit jobs fg bg disown"
)
"""Programs that run no others, or for which the parser lists or refuses what they run."""
SCHEDULERS = _names(
    "tmux screen at batch crontab systemd-run nsenter machinectl flatpak-spawn dtach abduco"
)
"""Programs that run commands in other processes: never allowed by a rule."""
INTERPRETERS = _names(
    "python python2 python3 node deno bun ruby perl php lua bash sh dash zsh fish ksh tclsh "
    "rscript tsx ts-node guile racket julia octave elixir groovy kotlin scala swift dart crystal "
    "raku sbcl clisp ocaml java jshell runghc ipython irb iex wish nu xonsh elvish pypy pypy3"
)
SYSTEM_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/")
HARMLESS_VARIABLES = re.compile(
    r"LANG|LC_\w+|TZ|TERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CI|DEBUG|NODE_ENV|RUST_BACKTRACE"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE"
)
_BUILT_INS_OF_GIT = _names(
    "add am annotate apply archive bisect blame branch bundle cat-file check-ignore checkout "
    "cherry cherry-pick clean clone commit config count-objects describe diff diff-files "
    "diff-index diff-tree difftool fetch for-each-ref format-patch fsck gc grep gui help init "
    "log ls-files ls-remote ls-tree maintenance merge merge-base merge-file mergetool mv "
    "name-rev notes pull push range-diff rebase reflog remote repack replace request-pull "
    "reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref "
    "sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref "
    "var verify-commit verify-tag version whatchanged worktree write-tree"
)


class Verdict(Record):
    """The result of matching rules of one effect with a command line."""

    rule: Rule | None = None
    certain: bool = False
    """True if the rule matches, False if it may match."""


@lru_cache(maxsize=64)
def parsed(command: str) -> CommandLine:
    """The parts of a command line."""
    return parse_command(command)


def base_name(name: str) -> str:
    """A program without its folder, in lower case because some file systems ignore case."""
    return PurePath(name).name.casefold()


def _plain(word: CommandWord) -> str:
    return word.literal if word.literal is not None else word.raw


def words_of(part: CommandPart) -> list[str]:
    """The words of a part; words with expansions are returned as written."""
    return [_plain(word) for word in part.words]


# Deny and ask rules -------------------------------------------------------------------------------


def restricting(line: CommandLine, rules: Sequence[Rule]) -> Verdict:
    """The first rule that matches a part, else the first one that may match."""
    possible = Verdict()
    for rule in rules:
        for part in line.parts:
            restricts = _restricts(rule, part)
            if restricts:
                return Verdict(rule=rule, certain=True)
            if restricts is None and possible.rule is None:
                possible = Verdict(rule=rule)
    return possible


def _restricts(rule: Rule, part: CommandPart) -> bool | None:
    """Whether a rule matches a part; ``None`` if it may."""
    tokens = words_of(part)
    if not rule.specifier or not tokens:
        return not rule.specifier
    if part.name is None:
        return None
    specifier = _split(rule.specifier)[1]
    expected = specifier.removesuffix(":*").replace("*", " * ").split()
    program = base_name(expected[0]) if expected else ""
    if program == "*":
        return _text_matches(specifier, tokens) or None
    if base_name(part.name) != program:
        return None if _may_reach(part, program) else False
    if _text_matches(specifier, [expected[0], *tokens[1:]]):
        return True
    return None if _may_match(expected[1:], part) else False


def _may_reach(part: CommandPart, program: str) -> bool:
    """Whether a part may run ``program`` in a way that the parser does not know.

    True for a program that is in no table, if an argument, a variable or a here-document names the
    other one, or may be a script.
    """
    if base_name(part.name or "") in RESOLVED or not change_reason(part):
        return False
    if part.more_arguments:
        return True
    for word in (*part.arguments, *(assignment.value for assignment in part.assignments)):
        text = word.literal
        if text is None or _QUOTING.search(text):
            return True
        if program in map(base_name, _NAMES_IN_TEXT.split(text)):
            return True
    # Many programs read commands from their input: ``sqlite3 a <<< '.shell rm x'``.
    documents = (entry for entry in part.redirections if entry.operator.startswith("<<"))
    return any(
        entry.document is None or program in map(base_name, _NAMES_IN_TEXT.split(entry.document))
        for entry in documents
    )


_QUOTING = re.compile(r"[\\'\"$`]")
"""With these in a text, a shell may read another word than the one that is written."""
_NAMES_IN_TEXT = re.compile(r"[^\w./+-]+|(?<=\w)=")


def _may_match(expected: Sequence[str], part: CommandPart) -> bool:
    """Whether the arguments may be equivalent: other order or spelling, unknown values."""
    if part.more_arguments or any(word.literal is None for word in part.arguments):
        return True
    arguments = [word.literal or "" for word in part.arguments]
    options = [word for word in expected if word.startswith("-")]
    if options:
        return any(word.startswith("-") for word in arguments)
    plain = [word.casefold() for word in expected if not word.startswith("-") and word != "*"]
    rest = iter(word.casefold() for word in arguments)
    if plain and all(word in rest for word in plain):
        return True
    if base_name(part.name or "") == "git":
        first = next((word for word in arguments if not word.startswith("-")), "")
        return bool(first) and first not in _BUILT_INS_OF_GIT  # it may be an alias
    return False


def _text_matches(specifier: str, tokens: Sequence[str]) -> bool:
    """Whether a specifier matches a command: exactly, as a prefix of words, or with ``*``."""
    text = " ".join(tokens)
    if specifier.endswith(":*"):
        prefix = " ".join(specifier[:-2].split())
        return text == prefix or text.startswith(f"{prefix} ")
    if "*" in specifier:
        pattern = ".*".join(map(re.escape, " ".join(specifier.split()).split("*")))
        return re.fullmatch(pattern, text, re.DOTALL) is not None
    return text == " ".join(specifier.split())


# Allow rules --------------------------------------------------------------------------------------


def is_allowed(part: CommandPart, rules: Sequence[Rule], *, strict: bool) -> bool:
    """Whether a rule allows a part.

    ``strict`` means that there are deny or ask rules about commands. A rule that allows everything
    then does not allow scripts, because the commands that they run are unknown.
    """
    if part.unresolved:
        return False
    if not any(decisive_assignments(part)) and not part.words:
        return True  # only opens files, which are checked elsewhere, or sets harmless variables
    if part.words and (part.name is None or base_name(part.name) in SCHEDULERS):
        return False
    tokens = words_of(part)
    if any(_allows(rule, part, tokens) for rule in rules if rule.specifier):
        return True
    everything = any(not rule.specifier for rule in rules)
    return everything and not (strict and _runs_script(part))


def decisive_assignments(part: CommandPart) -> tuple[str, ...]:
    """The variables that a rule has to name, as written: ``FOO=1``.

    Variables of the line itself, which no program sees, are not among them.
    """
    return tuple(
        f"{assignment.name}={_plain(assignment.value)}"
        for assignment in part.assignments
        if not HARMLESS_VARIABLES.fullmatch(assignment.name)
        and (part.words or not _OF_THE_LINE.fullmatch(assignment.name))
    )


_OF_THE_LINE = re.compile(r"(?!.*_proxy\Z)(?!npm_)[a-z_][a-z0-9_]*|[A-Z]")
"""Names that are not those of environment variables, so that setting them only serves the line."""
_ASSIGNMENTS = re.compile(r"(?:[A-Za-z_]\w*=\S*(?:\s+|\Z))*")


def _split(specifier: str) -> tuple[frozenset[str], str]:
    """The variables at the beginning of a specifier, and the rest of it."""
    end = _ASSIGNMENTS.match(specifier).end()  # type: ignore[union-attr]
    return frozenset(specifier[:end].split()), specifier[end:]


def _allows(rule: Rule, part: CommandPart, tokens: Sequence[str]) -> bool:
    variables, specifier = _split(rule.specifier)
    if variables != frozenset(decisive_assignments(part)):
        return False
    values = [
        assignment.value
        for assignment in part.assignments
        if f"{assignment.name}={_plain(assignment.value)}" in variables
    ]
    if not _text_matches(specifier, tokens):
        return False
    # Expansions are allowed after the words of the rule, but not within them.
    count = len(specifier.removesuffix(":*").split())
    exact = not specifier.endswith(":*") and "*" not in specifier
    checked = part.words if exact else part.words[:count]
    if exact and part.more_arguments:
        return False
    # A word with blanks could look like several words of the rule.
    return all(
        word.literal is not None and not re.search(r"\s", word.literal)
        for word in (*checked, *values)
    )


def _runs_script(part: CommandPart) -> bool:
    name = part.name or ""
    if "/" in name and not name.startswith(SYSTEM_FOLDERS):
        return True
    base = base_name(name)
    return base in RUNNERS or (base in INTERPRETERS and bool(part.arguments))
