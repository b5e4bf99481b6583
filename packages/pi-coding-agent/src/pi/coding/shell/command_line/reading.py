"""Decides whether a command only reads: the table of programs that write by option or argument.

Permissions and plan mode share it. A program that is missing here may change something, and so may
one whose options are not known in advance. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pi.base.records import Record
from pi.coding.shell.command_line.parts import CommandPart, CommandWord
from pi.coding.shell.command_line.programs import WRAPPERS
from pi.coding.shell.command_line.reading_git import git_change

SYSTEM_FOLDERS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/")


def change_reason(part: CommandPart) -> str:
    """Return why a command may change something; empty if it only reads.

    Its redirections and variables are not considered, and the commands that it runs are parts of
    their own. ``unresolved`` has to be checked first.
    """
    if not part.words:
        return ""
    folder, _, name = (part.name or "").rpartition("/")
    if folder and f"{folder}/" not in SYSTEM_FOLDERS:
        return f"{part.name} is not a program of the system"
    if name in _PLAIN:
        return ""
    if part.more_arguments and name not in _PASSING:
        return f"arguments of {name} are added at run time"
    return _program_problem(name, part.arguments)


def _program_problem(name: str, arguments: Sequence[CommandWord]) -> str:
    reason = f"{name or 'it'} is not in the list of commands that only read"
    if name in _READERS:
        reason = _option_problem(name, arguments, _READERS[name])
    elif name in _CHECKED:
        reason = _CHECKED[name](arguments)
    elif name in _PASSING:
        reason = _passing_problem(name, arguments)
    elif name in _QUERIES:
        reason = _query_problem(name, arguments)
    elif name in _VERSIONED and [word.literal for word in arguments] in _VERSION_ARGUMENTS:
        reason = ""
    return reason


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN = _split(
    "cat head wc stat ls du df pwd echo printf test [ true false : cd which type basename"
    " dirname realpath readlink grep egrep fgrep zcat bzcat xzcat diff cmp comm cut tr nl od"
    " hexdump fold paste join tac rev column strings expand unexpand md5sum sha1sum sha224sum"
    " sha256sum sha384sum sha512sum b2sum cksum sum numfmt tsort uname id whoami"
    " groups nproc free uptime pgrep pidof lscpu lsblk jq tail seq sleep wait printenv"
    " getconf tty readelf exa eza read break continue return exit shift expr locale"
)
"""Programs that change nothing with any arguments."""

_PASSING = frozenset({
    "builtin", "command", "env", "ionice", "nice", "nohup", "setsid", "stdbuf", "time", "timeout",
    "xargs",
})  # fmt: skip
"""Wrappers that only run another command, which is a part of its own."""


class _Reader(Record):
    """A program that changes nothing unless one of these options is used."""

    long: tuple[str, ...] = ()
    """Long options; unambiguous prefixes count, because programs accept them."""
    short: str = ""
    """Letters of short options; a cluster such as ``-uo`` counts as well."""
    values: str = ""
    """Letters of short options whose value is the next word, where ``operands`` are counted."""
    operands: int | None = None
    """Number of files that it may have at most; a further one is written."""


_READERS: dict[str, _Reader] = {
    "sort": _Reader(long=("--output", "--compress-program", "--temporary-directory"), short="oT"),
    "uniq": _Reader(values="fsw", operands=1),
    "shuf": _Reader(long=("--output",), short="o"),
    "iconv": _Reader(long=("--output",), short="o"),
    # Those of macOS write with ``-o``.
    "base64": _Reader(long=("--output",), short="o"),
    "base32": _Reader(long=("--output",), short="o"),
    "xxd": _Reader(long=("--revert",), short="r", values="cglosRn", operands=1),
    "rg": _Reader(long=("--pre", "--hostname-bin")),
    "ag": _Reader(long=("--pager",)),
    "fd": _Reader(long=("--exec", "--exec-batch"), short="xX"),
    "fdfind": _Reader(long=("--exec", "--exec-batch"), short="xX"),
    "tree": _Reader(long=("--output",), short="oR"),
    "file": _Reader(long=("--compile", "--uncompress"), short="Cz"),
    "yq": _Reader(long=("--inplace", "--in-place", "--split-exp"), short="is"),
    "lsof": _Reader(short="D"),
}
_FIND_ACTIONS = ("-delete", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls")
"""Actions that write. ``-exec`` runs a command, which is a part of its own."""
_SED_READING = re.compile(r"-[nErsuz]+e?|-e|--expression|--quiet|--silent|--regexp-extended")
"""Options of ``sed`` with which it changes no file. The resolver checks its script."""


def _passing_problem(name: str, arguments: Sequence[CommandWord]) -> str:
    """A wrapper passes the decision on, unless it has nothing to run or sets variables."""
    for word in arguments:
        text = word.literal or ""
        if name == "env" and "=" in text and not text.startswith("-"):
            return f"env sets {text.partition('=')[0]}"
        if name == "time" and re.match(r"-\w*[oa]|--[oa]", text):
            return "time -o writes a file"
    return "" if name in WRAPPERS else f"{name} is not known"


def _option_problem(name: str, arguments: Sequence[CommandWord], reader: _Reader) -> str:
    """Return the problem of an option that writes; expansions may become options as well."""
    for word in arguments:
        text = word.literal
        if text is None:
            if word.may_be_option:
                return f"{word.raw} may become an option of {name}"
        elif text.startswith("--"):
            option = text.partition("=")[0]
            if len(option) > 2 and any(name.startswith(option) for name in reader.long):
                return f"{name} {option} writes or runs programs"
        elif text.startswith("-") and set(reader.short) & set(text[1:]):
            return f"{name} {text} writes"
    if reader.operands is not None and _operands(arguments, reader.values) > reader.operands:
        return f"the second file of {name} is written"
    return ""


def _operands(arguments: Sequence[CommandWord], values: str) -> int:
    """Return how many operands a program may have; behind ``--`` every word is one."""
    count, is_value, are_operands = 0, False, False
    for word in arguments:
        text = word.literal
        if text is None:
            count += 1 if word.single else 2
        elif is_value:
            is_value = False
        elif text == "--" and not are_operands:
            are_operands = True
        elif text.startswith("-") and text != "-" and not are_operands:
            is_value = len(text) == 2 and text[1] in values
        else:
            count += 1
    return count


def _find_problem(arguments: Sequence[CommandWord]) -> str:
    for word in arguments:
        text = word.literal
        if text is None and word.may_be_option:
            return f"{word.raw} may become an option of find"
        if text in _FIND_ACTIONS:
            return f"find {text} changes files or asks"
    return ""


def _date_problem(arguments: Sequence[CommandWord]) -> str:
    """Allow only ``-u`` and formats: a number or ``-s`` sets the clock."""
    texts = [word.literal or "" for word in arguments]
    if all(text in ("-u", "-I", "-R", "-Iseconds") or text.startswith("+") for text in texts):
        return ""
    return "date may set the clock"


def _sed_problem(arguments: Sequence[CommandWord]) -> str:
    for word in arguments:
        if word.may_be_option and not _SED_READING.fullmatch(word.literal or ""):
            return f"sed {word.raw} may change files"
    return ""


def _awk_problem(arguments: Sequence[CommandWord]) -> str:
    """The resolver has checked that the script only prints; see ``arguments.py``."""
    if any(word.may_be_option and not re.match(r"-[Fv]", word.literal or "") for word in arguments):
        return "awk has further options"
    return ""


_PS_VALUE = re.compile(r"-[A-Za-z]*[CGLOUgopqstuNk]|--(?:format|sort|user|pid|ppid|group|tty)")
"""Options of ``ps`` whose value is the next word."""


def _ps_problem(arguments: Sequence[CommandWord]) -> str:
    """``ps e`` and ``ps -E`` show the variables of other processes, among which are keys."""
    before = ""
    for word in arguments:
        text = word.literal
        if text is None and word.may_be_option and not _PS_VALUE.fullmatch(before):
            return f"{word.raw} may become an option of ps"
        if text is not None and re.match(r"-(?!-)\w*E", text):
            return f"ps {text} shows the variables of processes"
        if re.fullmatch(r"[A-Za-z]*e[A-Za-z]*", text or "") and not _PS_VALUE.fullmatch(before):
            return f"ps {text} shows the variables of processes"
        before = text or ""
    return ""


def _without_arguments(name: str) -> Callable[[Sequence[CommandWord]], str]:
    return lambda arguments: f"{name} has arguments" if arguments else ""


def _set_problem(arguments: Sequence[CommandWord]) -> str:
    texts = [word.literal for word in arguments]
    harmless = (text is not None and re.fullmatch(r"-[eux]*o?|pipefail", text) for text in texts)
    return "" if texts and all(harmless) else "set changes how commands run"


_CHECKED: dict[str, Callable[[Sequence[CommandWord]], str]] = {
    "find": _find_problem,
    "sed": _sed_problem,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk_problem),
    "date": _date_problem,
    "ps": _ps_problem,
    "git": git_change,
    "set": _set_problem,
    # The ``arch`` of macOS runs the command in its arguments.
    **{name: _without_arguments(name) for name in ("arch", "hostname", "mount", "umask")},
}
"""Checks of programs that write with some arguments."""

# Package managers ---------------------------------------------------------------------------------
# Only those that run no file of the project for a query: yarn, pnpm, cargo, bundle, composer and
# poetry run what yarnPath, rust-toolchain.toml, a Gemfile or a plugin names.

_SYSTEM_OPTIONS = _Reader(long=("--option", "--config-file"), short="oc")
_PIP_OPTIONS = _Reader(
    long=(
        "--python",
        "--log-file",
        "--index-url",
        "--pypi-url",
        "--extra-index-url",
        "--proxy",
        "--find-links",
        "--cert",
        "--client-cert",
        "--cache-dir",
    ),
    short="i",
)
_NPM_OPTIONS = _Reader(
    long=(
        "--registry",
        "--script-shell",
        "--prefix",
        "--userconfig",
        "--globalconfig",
        "--proxy",
        "--https-proxy",
        "--cache",
        "--git",
        "--node-options",
        "--shell",
        "--logs-dir",
    ),
)
_NPM = _split("ls list view info outdated search root prefix --version -v")
_APT_CACHE = _split("policy show search depends rdepends madison")
_QUERIES: dict[str, tuple[frozenset[str], _Reader]] = {
    **dict.fromkeys(
        ("pip", "pip3"), (_split("list show freeze check index debug --version"), _PIP_OPTIONS)
    ),
    "npm": (_NPM, _NPM_OPTIONS),
    "go": (_split("version list doc env"), _Reader()),
    "gem": (_split("list search --version"),
            _Reader(long=("--config-file", "--source", "--http-proxy"), short="sp")),
    "brew": (_split("list info search --version"), _Reader()),
    "conda": (_split("list search info --version"), _Reader(long=("--channel",), short="c")),
    "apt": (_split("list show search policy"), _SYSTEM_OPTIONS),
    "apt-cache": (_APT_CACHE, _SYSTEM_OPTIONS),
    "dpkg": (_split("-l -L -s -S --list --status --listfiles --search"), _Reader()),
    "dpkg-query": (_split("-l -L -s -S -W --list --status --listfiles --search --show"), _Reader()),
    "docker": (_split("ps images logs inspect version"), _Reader()),
}  # fmt: skip
"""Subcommands that only answer a question, and the options with which they do more."""
_OTHER_SOURCES = {
    "npm": re.compile(r".*:|[^@]*/", re.DOTALL),
    # ``pip show -f`` lists files; elsewhere it is ``--find-links``.
    **dict.fromkeys(("pip", "pip3"), re.compile(r"--local-")),
    # A formula in a file, or of a repository that is not known yet, is a program.
    "brew": re.compile(r".*[/:]|.*\.(?:rb|json)\Z|--(?:gi|pu|op)", re.DOTALL),
    "conda": re.compile(r".*:", re.DOTALL),
}
"""Arguments with which a query contacts another host, writes a file or runs a program."""
_GO_OPTIONS = _split("-m -json -f -deps -test -e -u -versions -find -all -short -src")
"""With others, ``go list`` runs the compiler."""


def _query_problem(name: str, arguments: Sequence[CommandWord]) -> str:
    subcommands, reader = _QUERIES[name]
    word = arguments[0].literal if arguments else None
    if word not in subcommands:
        return f"{name} {arguments[0].raw if arguments else 'alone'} is not known to only read"
    for argument in arguments[1:]:
        # An unknown value would leave the machine as the name of a package.
        if argument.literal is None:
            return f"the arguments of {name} {word} are not known in advance"
        source = _OTHER_SOURCES.get(name)
        finds_links = name in ("pip", "pip3") and word != "show"
        if (source and source.match(argument.literal)) or (
            finds_links and re.match(r"-\w*f", argument.literal)
        ):
            return f"{name} {word} {argument.raw} may contact another host or run programs"
        if name == "go" and argument.may_be_option and argument.literal not in _GO_OPTIONS:
            return f"go {word} {argument.raw} may change something or run programs"
    return _option_problem(name, arguments[1:], reader)


_VERSIONED = _split(
    "python python3 node npx ruby perl php java javac gcc g++ clang make cmake bash gh uv tmux"
    " curl wget tar ssh psql sqlite3"
)
_VERSION_ARGUMENTS = (["--version"], ["-V"], ["-v"])
