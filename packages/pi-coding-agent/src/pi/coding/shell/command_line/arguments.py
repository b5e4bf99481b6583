"""Checks arguments and variables: inline code, options that run commands, ``git``. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.coding.shell.command_line.parts import CommandPart, CommandWord
from pi.coding.shell.command_line.programs import (
    CODE_RUNNERS,
    HARMLESS_GIT_SETTINGS,
    INTERPRETERS,
    RUNNING_OPTIONS,
    SED_COMMAND,
)

_ARITHMETIC_NAME = re.compile(r"(?<![\w#@])(?!0[xX])[A-Za-z_]\w*|\$\(\)|\$[0-9@*!-]|\$\{")
_INITIAL = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*\d+\s*(?:[;,]|\Z)", re.ASCII)
"""The beginning of ``for ((i=0; i<3; i++))``: it sets a variable before it is evaluated."""
_HEX = re.compile(r"0[xX][0-9A-Fa-f]+|\d+#\w+")

DECIDING_VARIABLES = re.compile(
    r"""
    PATH|IFS|ENV|BASH_.*|BASHOPTS|SHELL|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|POSIXLY_CORRECT|CDPATH
    |EXECIGNORE|GLOBIGNORE|FPATH|ZDOTDIR|INPUTRC|HOME|XDG_CONFIG_.*|LD_.*|DYLD_.*|GCONV_PATH
    |GIT_(?!AUTHOR_|COMMITTER_|TERMINAL_PROMPT$|OPTIONAL_LOCKS$).*|.*PAGER|LESSOPEN|LESSCLOSE|LESS
    |EDITOR|VISUAL|BROWSER|.*_ASKPASS|RSYNC_.*|TAR_OPTIONS|TAPE|RIPGREP_CONFIG_PATH|GREP_OPTIONS
    |PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$|HASHSEED$|IOENCODING$|UTF8$).*|NODE_OPTIONS|NODE_PATH
    |PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|.*JAVA_OPTIONS|JAVA_TOOL_OPTIONS|.*_OPTS|CLASSPATH|MAKE.*
    |CC|CXX|LD|AR|CARGO_(?!TARGET_DIR$|TERM_.*).*|RUSTC.*|RUSTUP_.*|GO(?:FLAGS|ROOT|TOOLCHAIN)
    |(?i:npm_config_).*|YARN_.*|PIP_.*|UV_.*|TERMINFO.*|LUA_.*|PHP.*|OPENSSL_.*|R_.*|AWKPATH
    """,
    re.VERBOSE,
)
"""Variables that decide which program runs, or make a program run another one."""
_SET_BY_BASH = re.compile(
    r"_|REPLY|MAPFILE|OPTARG|COMP_.*|COPROC|DIRSTACK|FUNCNAME|OLDPWD"
    r"|PWD|READLINE_.*"
)
"""Variables to which bash assigns text of its input, such as a line that it has read."""
_NUMBERS_OF_BASH = frozenset({"BASH_VERSINFO", "BASH_SUBSHELL"})


class Names:
    """The variables of a line, to decide which expressions are safe to evaluate.

    An expression evaluates the *values* of its variables, and ``a[$(command)]`` in a value runs the
    command. Values that the line sets to anything but a number are therefore a problem.
    """

    def __init__(self) -> None:
        self.assigned: dict[str, bool] = {}
        """Variables that the line sets, with whether all values are numbers."""
        self.evaluated: set[str] = set()
        self.anything_assigned = False
        """Whether variables of unknown names may be set."""

    def assign(self, name: str, value: str | None) -> None:
        """Note that ``name`` is set to ``value``."""
        number = value is not None and re.fullmatch(r"-?\d*", value) is not None
        self.assigned[name] = self.assigned.get(name, True) and number

    def inherit(self, outer: Names) -> None:
        """Note the variables of the line that runs this script, which may be in its environment."""
        self.assigned.update(outer.assigned)
        self.anything_assigned = outer.anything_assigned

    def evaluate(self, expression: str) -> None:
        """Note the variables of an expression; ``$()`` is the output of a command."""
        if start := _INITIAL.match(expression):
            self.assigned.setdefault(start[1], True)
        without_numbers = _HEX.sub("0", expression)
        self.evaluated.update(_ARITHMETIC_NAME.findall(without_numbers))

    @property
    def inherited(self) -> tuple[str, ...]:
        """The variables that expressions evaluate and the line does not set."""
        return tuple(sorted(self.evaluated - self.assigned.keys()))

    @property
    def problem(self) -> str:
        """Why an expression of the line may run a command; empty if none can."""
        outside = {"$()", "${", "$@", "$*", "$!", "$-"} | {f"${digit}" for digit in range(10)}
        for name in sorted(self.evaluated):
            if DECIDING_VARIABLES.fullmatch(name) and name not in _NUMBERS_OF_BASH:
                return f"an expression may set {name}, which decides which programs run"
            if _SET_BY_BASH.fullmatch(name):
                return f"an arithmetic expression evaluates {name}, which may not be a number"
            if name in outside or self.anything_assigned or not self.assigned.get(name, True):
                return "an arithmetic expression evaluates a value that is not a number"
        return ""


STANDARD_INPUT = re.compile(r"-|/dev/stdin|/dev/fd/.*|/proc/.*", re.DOTALL)
_SED_FLAGS = re.compile(r"-[nErsuz]*|-i|--quiet|--in-place|--regexp-extended")
_AWK_RISKS = re.compile(r"system|getline|[|>@]|close|ARGV|SYMTAB")
"""``ARGV`` and ``SYMTAB`` can name further files to read."""


def arguments_problem(program: str, part: CommandPart) -> str:
    """Return why the commands that ``program`` runs are not known; empty if it runs none."""
    plain = re.sub(r"[\d.]+$", "", program)
    if plain in INTERPRETERS:
        return _interpreter_problem(plain, part)
    if program in CODE_RUNNERS:
        return _code_problem(program, part)
    if options := RUNNING_OPTIONS.get(program):
        return _option_problem(program, part, options)
    return ""


def _interpreter_problem(program: str, part: CommandPart) -> str:
    """Return a problem for code in an argument or from the input; a script file has a name."""
    flags, arguments = INTERPRETERS[program], part.arguments
    index = 0
    while index < len(arguments) and arguments[index].literal in flags.harmless:
        index += 1
    if index == len(arguments):
        runs_tests = any(word.literal == "--test" for word in arguments)
        return "" if runs_tests else f"{program} runs code from its input"
    word, text = arguments[index], arguments[index].literal
    if text in flags.ending:
        return ""
    if text == "-m" and flags.has_modules:
        module = arguments[index + 1].literal if index + 1 < len(arguments) else None
        return "" if module is not None else f"the module of {program} is not known in advance"
    if word.may_be_option:
        return f"{program} {word.raw} may run code that is given inline"
    if not word.single or "process" in word.expands or STANDARD_INPUT.fullmatch(text or ""):
        return f"the script of {program} is not known in advance"
    return ""


def _code_problem(program: str, part: CommandPart) -> str:
    """Return a problem unless the program of ``awk`` or ``sed`` only prints."""
    takes_value = ("-e", "--expression", "-ne", "-En", "-Ee") if "sed" in program else ("-F", "-v")
    scripts: list[CommandWord] = []
    arguments = iter(part.arguments)
    for word in arguments:
        text = word.literal
        if text in takes_value:
            value = next(arguments, CommandWord(raw=""))
            scripts += [value] if "sed" in program else []
        elif not word.may_be_option:
            scripts += [] if scripts else [word]
        elif text is None or not _is_harmless_flag(program, text):
            return f"{program} {word.raw} may run commands"
    if not scripts or part.more_arguments:
        return f"the program of {program} is not known in advance"
    only_prints = _sed_only_prints if "sed" in program else _awk_only_prints
    if all(script.literal is not None and only_prints(script.literal) for script in scripts):
        return ""
    return f"the program of {program} may run commands"


def _is_harmless_flag(program: str, text: str) -> bool:
    if "sed" in program:
        return _SED_FLAGS.fullmatch(text) is not None
    return re.match(r"-[Fv].", text) is not None


def _awk_only_prints(script: str) -> bool:
    # ``>=`` and ``||`` are no redirections: nothing in awk begins with ``=`` or ``|``.
    return _AWK_RISKS.search(re.sub(r">=|\|\|", " ", script)) is None


def _sed_only_prints(script: str) -> bool:
    """Whether all commands print, delete or substitute: ``e`` runs commands, ``w`` writes files."""
    offset = 0
    while offset < len(script):
        command = SED_COMMAND.match(script, offset)
        if command is None or (
            command[1] and re.search(rf"\[[^]]*{re.escape(command[1])}", command[0])
        ):
            return False  # the sed of BSD looks for the end of a bracket first
        offset = command.end()
    return True


def _option_problem(program: str, part: CommandPart, options: tuple[str, ...]) -> str:
    letters = {option[1] for option in options if re.fullmatch(r"-\w", option)}
    names = [option for option in options if not re.fullmatch(r"-\w", option)]
    for index, word in enumerate(part.arguments):
        text = word.literal
        if text is None:
            if word.may_be_option:
                return f"the options of {program} are not known in advance"
            continue
        bundled = re.match(r"-(?!-)", text) or (program == "tar" and index == 0)
        typed_name = text.partition("=")[0]
        abbreviates = typed_name.startswith("--") and len(typed_name) > 2
        dashed = text[1:] if program == "go" and text.startswith("--") else text
        if (bundled and letters & set(text)) or any(
            dashed.startswith(option_name) or (abbreviates and option_name.startswith(typed_name))
            for option_name in names
        ):
            return f"{program} {text} may run a command"
    return f"the options of {program} are not known in advance" if part.more_arguments else ""


def git_problem(arguments: Sequence[CommandWord], *, more: bool) -> str:
    """Return why the commands that ``git`` runs are not known. Settings may name commands."""
    index, reason = 0, ""
    while index < len(arguments) and arguments[index].may_be_option and not reason:
        text = arguments[index].literal or "$"
        setting = (
            arguments[index + 1].prefix if text == "-c" and index + 1 < len(arguments) else text
        )
        if text.startswith(("-c", "--config-env")) and not HARMLESS_GIT_SETTINGS.match(setting):
            reason = "git -c may set a command"
        elif text.startswith(("$", "--exec-path=")):
            reason = f"git {arguments[index].raw} decides which programs run"
        index += 2 if text in ("-c", "-C", "--git-dir", "--work-tree", "--namespace") else 1
    if reason:
        return reason
    if index > len(arguments) or not all(word.single for word in arguments[:index]):
        return "the options of git are not known in advance"
    command = arguments[index].literal if index < len(arguments) else None
    if command is None:
        has_no_command = index == len(arguments) and not more
        return "" if has_no_command else "the command of git is not known in advance"
    return _git_command_problem(command, arguments[index + 1 :], more=more)


_GIT_RUNNERS = frozenset({
    "filter-branch", "difftool", "mergetool", "send-email", "instaweb", "help", "web--browse",
    "for-each-repo", "maintenance", "credential",
})  # fmt: skip
"""Commands of git that run programs named by settings or arguments."""
_GIT_TRANSPORT = r"-\w*[uc]\Z|--(?:up|rec|exec|conf|templ)|ext::"
_GIT_RISKS = {
    "bisect": r"run\Z|start\Z|replay\Z",
    "submodule": r"foreach\Z|add\Z|update\Z",
    "rebase": r"-\w*[xi]|--(?:ex|in|edit)",
    "grep": r"-\w*O|--open",
    "push": r"--(?:rec|exec)|ext::",
    **dict.fromkeys(("fetch", "pull", "clone", "ls-remote", "archive"), _GIT_TRANSPORT),
    **dict.fromkeys(("fetch-pack", "send-pack", "remote"), _GIT_TRANSPORT),
}
"""Arguments with which a command of git runs a program."""


def _git_command_problem(command: str, arguments: Sequence[CommandWord], *, more: bool) -> str:
    reason = f"git {command} may run a command"
    if command in _GIT_RUNNERS:
        return reason
    if command == "config":
        read_only = ("--get", "--get-all", "--get-regexp", "--list", "-l", "list", "get")
        return "" if arguments and arguments[0].literal in read_only else reason
    if (pattern := _GIT_RISKS.get(command)) is None:
        return ""
    unknown = more or any(word.literal is None and word.may_be_option for word in arguments)
    risky = any(re.match(pattern, word.literal or word.prefix) for word in arguments)
    return reason if unknown or risky else ""
