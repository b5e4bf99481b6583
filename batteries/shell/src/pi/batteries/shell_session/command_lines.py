"""Cleans up command lines, rejects those for which a tool exists, and condenses their output. Pure.

Models tend to append ``| head`` or ``2>&1``, which hides output. Only changes that are certain to
keep the meaning are made: a command of several lines, or with unbalanced quotes, is not changed.

A rule for output belongs to a program and drops lines that carry no information once the command
has succeeded. The output is unchanged if the command failed, is unknown or not a single plain
command, or if too little would be saved. Lines that mention a problem always stay. A result is
never empty, and states how many lines were left out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath

from pi.extension import Record, replace
from pi.extension.guards import CommandLine, parse_command

_LIMIT = re.compile(
    # `head -n -7` and `tail -n +7` are no limits: they leave lines out at the other end.
    r"(?<!\s)\s*(?<!\|)\|&?\s*(?P<limit>(?:head|tail)(?:\s+(?:-n\s*|--lines[= ]|-)\d+)?"
    r"|tail\s+(?:-n\s*|--lines[= ])-\d+)\s*$"
)
_MERGED = re.compile(r"(?<!\s)\s+2>&1\s*$")
_ENDLESS = re.compile(
    r"\b(?:yes|ping|watch|top|while|until)\b|/dev/(?:u?random|zero)|\s-\w*[fF]\b|--follow"
)
"""Signs of a command that runs forever unless ``head`` ends it."""
_CHANGE_FOLDER = re.compile(
    r"""cd\s+(?:'(?P<single>[^']+)'|"(?P<double>[^"$`\\]+)"|(?P<bare>[^\s'"$`\\;&|<>()*?[\]{}]+))"""
    r"\s*&&\s*(?P<rest>\S.*)"
)


class CleanedCommand(Record):
    """A command line and its working directory."""

    command: str
    cwd: str | None = None
    """Set if the command began with ``cd``."""
    removed: str = ""
    """The limit at its end that was removed, such as ``head -20``."""


class BashCall(Record):
    """A command after clean-up and validation."""

    command: str
    cwd: Path | None
    env: dict[str, str]
    timeout: float | None
    removed: str = ""
    """The limit at its end that was removed, such as ``head -20``."""


def clean_command(command: str, *, strip_limits: bool = True) -> CleanedCommand:
    """Return the command without limits at its end, and its leading ``cd`` as ``cwd``."""
    line = strip_limits_at_end(command) if strip_limits else CleanedCommand(command=command)
    moved = _CHANGE_FOLDER.fullmatch(line.command)
    if moved is None or "\n" in command:
        return line
    folder = moved["single"] or moved["double"] or moved["bare"]
    return replace(line, command=moved["rest"], cwd=folder)


def strip_limits_at_end(command: str) -> CleanedCommand:
    """Return the command without ``| head``, ``| tail`` and ``2>&1`` at its end.

    The tool keeps the whole output with standard error and truncates it itself.
    """
    if "\n" in command:
        return CleanedCommand(command=command)
    limit = _LIMIT.search(command)
    shorter = command[: limit.start()] if limit else command
    if limit and (not _is_whole(shorter) or _ENDLESS.search(shorter)):
        return CleanedCommand(command=command)
    merged = _MERGED.sub("", shorter)
    if merged.strip() and _is_whole(merged):
        shorter = merged
    return CleanedCommand(command=shorter, removed=limit["limit"] if limit else "")


def _is_whole(command: str) -> bool:
    """Whether the command is not empty and every quote is closed."""
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False


class InterceptionRule(Record):
    """A command pattern and the tool to use instead."""

    pattern: str
    """Regular expression; an invalid one never matches."""
    tool: str
    message: str


DEFAULT_RULES = (
    InterceptionRule(
        pattern=r"^\s*(?:cat|head|tail|less|more|bat)\s+(?!.*(?:[|;&>]|<<|-f\b|--follow))",
        tool="read",
        message="Use the read tool to look at files; it can show any part of them.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:grep|egrep|fgrep|rg|ripgrep|ag|ack)\s",
        tool="grep",
        message="Use the grep tool to search in files; it respects .gitignore.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:find|fd|fdfind|locate)\s(?!.*-(?:exec|execdir|delete|ok|x|X)\b)",
        tool="find",
        message="Use the find tool to look for files; it respects .gitignore.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:sed\s+(?:\S+\s+)*(?:-\w*i|--in-place)|perl\s+(?:-\w+\s+)*-\w*i"
        r"|awk\s+.*-i\s+inplace)",
        tool="edit",
        message="Use the edit tool to change files; it shows what it has changed.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:echo|printf)\s+[^|;&]*[^\d&|;\s-]\s*>{1,2}\s*[^&|;\s]\S*\s*$"
        r"|^\s*cat\s*(?:>{1,2}\s*\S+\s*<<|<<\S+\s*>{1,2})"
        r"|^\s*cat\s[^|;&<>]*[^\d&|;\s<>-]\s*>{1,2}\s*[^&|;\s]\S*\s*$",
        tool="write",
        message="Use the write tool to create files; it creates folders too.",
    ),
)


MAX_INTERCEPTED = 2000
"""Characters above which a command is not checked: it is a script, and patterns take long."""


def find_interception(
    command: str, rules: Sequence[InterceptionRule], tools: Collection[str]
) -> str | None:
    """Return why a command is rejected; ``None`` if no rule of an active tool matches."""
    if len(command) > MAX_INTERCEPTED:
        return None
    forms = dict.fromkeys((command, normalise(command)))
    for rule in rules:
        if rule.tool in tools and any(_matches(rule.pattern, form) for form in forms):
            return f"Blocked: {rule.message}\n\nOriginal command: {command}"
    return None


_WORD = r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\;&|<>()])+"""
_PREFIX = re.compile(
    rf"\s*(?:cd(?:\s+{_WORD})?\s*(?:&&|;|\n)"
    rf"|[A-Za-z_]\w*=(?:{_WORD})?(?=\s)"
    r"|(?:command|builtin|exec|env|nohup|time|nice|sudo)(?=\s)(?:\s+-\w+)*"
    rf"|timeout(?:\s+-\w+)*\s+{_WORD})\s*"
)
"""What precedes the command that a line is about."""
_PROGRAM = re.compile(
    r"""\\?(?P<quote>["']?)(?:[^\s'"/;&|<>()]*/)*(?P<name>[\w.+-]+)(?P=quote)(?=\s|$)"""
)


def normalise(command: str) -> str:
    """Return a command without leading ``cd``, assignments, wrappers and the path of its program.

    ``cd src && LC_ALL=C command /bin/cat f`` becomes ``cat f``.
    """
    while prefix := _PREFIX.match(command):
        command = command[prefix.end() :]
    program = _PROGRAM.match(command)
    return program["name"] + command[program.end() :] if program else command


def rules_without_effect(
    rules: Sequence[InterceptionRule], tools: Collection[str]
) -> list[tuple[InterceptionRule, str]]:
    """Return the rules that can never match, and why."""
    problems: list[tuple[InterceptionRule, str]] = []
    for rule in rules:
        try:
            re.compile(rule.pattern)
        except re.error as error:
            problems.append((rule, f"{rule.pattern!r} is no regular expression: {error}"))
            continue
        if rule.tool not in tools:
            problems.append((rule, f"there is no tool {rule.tool!r}"))
    return problems


def _matches(pattern: str, command: str) -> bool:
    try:
        return re.search(pattern, command) is not None
    except re.error:
        return False


MIN_LINES = 30
"""Shorter outputs stay as they are."""
MIN_SAVED = 0.3
"""Minimal share of the characters that must be saved."""

_IMPORTANT = re.compile(
    r"warn|error|fail|fatal|denied|deprecat|vulnerab|conflict|cannot|not found|traceback|panic"
    r"|exception|skipped|xfail|flaky",
    re.IGNORECASE,
)
_ESCAPES = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class MinimiserRule(Record):
    """The lines of a program's output that can be left out after a success."""

    programs: tuple[str, ...]
    drop: str
    """Regular expression, matched at the start of a line without colours."""
    words: tuple[str, ...] = ()
    """The first argument must be one of these; empty for any."""
    modules: tuple[str, ...] = ()
    """Also for ``python -m MODULE``."""

    def applies(self, argv: Sequence[str]) -> bool:
        """Whether the rule is for this command."""
        name = PurePosixPath(argv[0]).name
        rest = list(argv[1:])
        if re.fullmatch(r"python[\d.]*", name) and rest[:1] == ["-m"] and len(rest) > 1:
            name, rest = rest[1], rest[2:]
            if name not in self.modules:
                return False
        elif name not in self.programs:
            return False
        first = next((word for word in rest if not word.startswith("-")), "")
        return not self.words or first in self.words


RULES = (
    MinimiserRule(
        programs=("pytest", "py.test"),
        modules=("pytest",),
        drop=r"\s*$|\S++\s+(?:PASSED\b|[.]+\s*(?:\[\s*\d+%\])?$)|[.]+\s*(?:\[\s*\d+%\])?$"
        r"|(?:platform|cachedir|rootdir|configfile|plugins|asyncio|Using|testpaths)\b",
    ),
    MinimiserRule(
        programs=("pip", "pip3"),
        modules=("pip",),
        words=("install", "download", "wheel", "sync"),
        drop=r"\s*$|Requirement already satisfied|\s*(?:Downloading|Using cached|Collecting"
        r"|Obtaining|Preparing|Building|Created wheel|Stored in|Getting requirements"
        r"|Installing build)"
        r"|\s*[━╸ ╺]+|Looking in",
    ),
    MinimiserRule(
        programs=("npm", "pnpm", "yarn", "bun"),
        words=("install", "ci", "i", "add", "update"),
        drop=r"\s*$|npm (?:http|timing|verb|sill)|Progress:|\s*[├└│]|\[\d+/\d+\]|\+ ",
    ),
    MinimiserRule(
        programs=("cargo",),
        words=("build", "check", "test", "run", "clippy", "install", "fetch", "update"),
        drop=r"\s*$|\s*(?:Compiling|Checking|Downloaded|Downloading|Fresh|Adding|Updating|Locking"
        r"|Blocking|Installing|Dirty|Running|Doc-tests)\b|test \S+ \.\.\. ok$|running \d+ tests?$",
    ),
    MinimiserRule(
        programs=("go",),
        words=("test", "build", "get", "mod", "install"),
        drop=r"=== (?:RUN|PAUSE|CONT|NAME)|\s*--- PASS|go: (?:downloading|finding|extracting)|PASS$"
        r"|\?\s+\S+\s+\[no test files\]",
    ),
    MinimiserRule(
        programs=("make", "gmake", "ninja"),
        drop=r"\s*$|make(?:\[\d+\])?: (?:Entering|Leaving|Nothing)|\[\s*\d+(?:%|/\d+)\]"
        r"|\s*(?:CC|CXX|LD|AR|AS|GEN|HOSTCC)\s|(?:\S*/)?(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+) ",
    ),
    MinimiserRule(
        programs=("mvn", "mvnw", "gradle", "gradlew"),
        drop=r"\s*$|\[INFO\]\s*(?:$|-+|Download|Scanning|---|Compiling|Building jar|Copying)"
        r"|Download(?:ing|ed)\b|> Task \S+(?: UP-TO-DATE| NO-SOURCE)?$|Progress ",
    ),
    MinimiserRule(
        programs=("docker", "podman"),
        words=("build", "pull", "push", "buildx", "compose"),
        drop=r"\s*$|#\d+ (?:\[|sha256|extracting|transferring|resolve|DONE|CACHED|\d+\.\d+)"
        r"|[0-9a-f]{12}: (?:Pull|Waiting|Verifying|Download|Extracting|Pushed|Layer)"
        r"| ---> |Removing intermediate",
    ),
    MinimiserRule(
        programs=("apt", "apt-get"),
        words=("install", "update", "upgrade", "dist-upgrade"),
        drop=r"\s*$|(?:Get|Hit|Ign):\d|Selecting previously|Preparing to unpack|Unpacking|Reading"
        r"|\(Reading|Building dependency|Processing triggers|Setting up|Fetched",
    ),
    MinimiserRule(
        programs=("git",),
        words=("clone", "fetch", "pull", "push"),
        drop=r"(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Writing|Delta"
        r"|Updating files|Unpacking)\b| \* \[new (?:branch|tag)\]",
    ),
)


def minimise(
    command: str, output: str, *, exit_code: int, rules: Sequence[MinimiserRule] = RULES
) -> str | None:
    """Return the condensed output; ``None`` if it must stay as it is."""
    if exit_code != 0 or output.count("\n") < MIN_LINES:
        return None
    argv = _plain_words(command, parse_command(command))
    rule = next((rule for rule in rules if argv and rule.applies(argv)), None)
    if rule is None:
        return None
    drop = re.compile(rule.drop)
    lines: list[str] = []
    omitted = 0
    for line in output.removesuffix("\n").split("\n"):
        # Progress bars overwrite their line: only the last state was visible.
        final_text = line.rstrip("\r").rpartition("\r")[2]
        plain = _ESCAPES.sub("", final_text)
        if drop.match(plain) and not _IMPORTANT.search(plain):
            omitted += 1
        else:
            lines.append(final_text)
    text = "\n".join(lines).strip("\n")
    note = f"[{omitted} lines of progress left out]"
    short = f"{text}\n{note}\n" if text.strip() else f"{note} The command succeeded.\n"
    is_shorter = omitted > 0 and len(short) <= len(output) * (1 - MIN_SAVED)
    return short if is_shorter else None


def _plain_words(command: str, line: CommandLine) -> list[str]:
    """The words of a single command; empty for anything compound, redirected or unresolved."""
    if len(line.parts) != 1 or line.unresolved:
        return []
    raw = [word.raw for word in line.parts[0].words]
    # Loops, ``!``, ``&``, groups, assignments and redirections all add text beside the words.
    if " ".join(raw).split() != command.split():
        return []
    return [word.literal or word.raw for word in line.parts[0].words]
