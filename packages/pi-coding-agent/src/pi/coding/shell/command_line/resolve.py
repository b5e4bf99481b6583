"""Resolves which programs a command line runs, also through other programs.

A part is resolved if its words name the program that runs. Everything else is marked: names from
variables, ``eval``, code for an interpreter, options that run commands, variables such as ``PATH``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from pi.base.records import replace
from pi.coding.shell.command_line.arguments import (
    DECIDING_VARIABLES,
    STANDARD_INPUT,
    Names,
    arguments_problem,
    git_problem,
)
from pi.coding.shell.command_line.grammar import Grammar
from pi.coding.shell.command_line.parts import CommandLine, CommandPart, CommandWord
from pi.coding.shell.command_line.programs import (
    LAUNCHERS,
    LOADER,
    OTHER_RUNNERS,
    SHELLS,
    WRAPPERS,
    Wrapper,
)
from pi.coding.shell.command_line.words import Malformed

MAX_LENGTH = 128 * 1024
"""Longer command lines are not parsed."""

_SPLIT_TOKEN = re.compile(r"[^ \t\n]\\\n[^ \t\n]")
_RESERVED = frozenset({
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "select", "function", "coproc", "time", "{", "}", "!", "[[", "]]",
})  # fmt: skip


def parse_command(text: str) -> CommandLine:
    """Parse a ``bash`` command line. Never raises; what cannot be parsed is unresolved."""
    if len(text) > MAX_LENGTH:
        return CommandLine(error=f"the command is longer than {MAX_LENGTH >> 10} KiB")
    if "\0" in text:
        return CommandLine(error="the command contains a zero byte")
    return _Resolver().parse(text, (), 0)


class _Resolver:
    """Resolves the parts of one script."""

    def __init__(self, outer: Names | None = None) -> None:
        self._names = Names()
        if outer is not None:
            self._names.inherit(outer)
        self._depth = 0

    def parse(self, text: str, inside: tuple[str, ...], depth: int) -> CommandLine:
        """Return all parts of ``text``."""
        self._depth = depth
        raw_parts: list[CommandPart] = []
        error = ""
        try:
            Grammar(text, self._names, raw_parts.append, inside, depth).read()
        except Malformed as malformed:
            error = str(malformed)
        if _SPLIT_TOKEN.search(text) or text.endswith("\\"):
            # A backslash may join ``$`` and ``(``, or the halves of a reserved word.
            reason = "a word is split over two lines"
            raw_parts.append(CommandPart(inside=inside, unresolved=reason))
        parts = [resolved for part in raw_parts for resolved in self._resolve(part)]
        if reason := self._names.problem:
            parts.append(CommandPart(inside=inside, unresolved=reason))
        return CommandLine(parts=tuple(parts), error=error, inherited=self._names.inherited)

    def _resolve(self, part: CommandPart) -> Iterator[CommandPart]:
        """Yield ``part``, marked if it cannot be resolved, and the commands that it runs."""
        for assignment in part.assignments:
            if DECIDING_VARIABLES.fullmatch(assignment.name):
                part = _mark_unresolved(part, f"{assignment.name} decides which programs run")
        if part.unresolved or not part.words:
            yield part
            return
        name = part.name
        if name is None or not name or name in _RESERVED:
            yield _mark_unresolved(
                part, f"the command name {part.words[0].raw} is not known in advance"
            )
            return
        program = name.rpartition("/")[2].lower()  # file systems may ignore case
        inner: list[CommandPart] = []
        yield _mark_unresolved(part, self._inner_commands(program, part, inner))
        yield from inner

    def _inner_commands(self, program: str, part: CommandPart, inner: list[CommandPart]) -> str:
        """Add the commands that ``part`` runs to ``inner``.

        Returns why the commands are not known; empty if they are.
        """
        if program in SHELLS:
            return self._resolve_shell(program, part, inner)
        if program in WRAPPERS:
            return self._resolve_wrapper(program, WRAPPERS[program], part, inner)
        if special := _SPECIAL.get(program):
            return special(self, part, inner)
        if program in OTHER_RUNNERS or LOADER.fullmatch(program):
            return f"{program} runs other commands"
        launched = self._resolve_launcher(program, part, inner) if program in LAUNCHERS else ""
        return launched or arguments_problem(program, part)

    # Programs that run their arguments -----------------------------------------------------------

    def _run(
        self, via: str, part: CommandPart, argv: Sequence[CommandWord], inner: list[CommandPart],
        *, more: bool = False,
    ) -> str:  # fmt: skip
        """Add the command ``argv``, which ``part`` runs; returns a problem or an empty string."""
        if not argv:
            return ""
        command = CommandPart(
            words=tuple(argv),
            redirections=tuple(
                redirection for redirection in part.redirections if "<" in redirection.operator
            ),
            inside=(*part.inside, via),
            more_arguments=more or part.more_arguments,
        )
        if len(command.inside) > 20:
            return "commands are nested too deeply"
        inner += self._resolve(command)
        return ""

    def _resolve_wrapper(
        self, program: str, wrapper: Wrapper, part: CommandPart, inner: list[CommandPart]
    ) -> str:
        command_words = part.words
        if (
            program == "command"
            and len(command_words) > 1
            and command_words[1].literal in ("-v", "-V")
        ):
            return ""  # it only names the program
        index, reason = _after_options(program, wrapper, command_words)
        while wrapper.assigns and index < len(command_words) and "=" in command_words[index].prefix:
            name = command_words[index].prefix.partition("=")[0]
            if not command_words[index].single or DECIDING_VARIABLES.fullmatch(name):
                reason = reason or f"{name} decides which programs run"
            literal = command_words[index].literal
            self._names.assign(name, None if literal is None else literal.partition("=")[2])
            index += 1
        index += wrapper.positionals
        if reason or any(_is_open(word) for word in command_words[1:index]):
            return reason or f"the arguments of {program} are not known in advance"
        rest = command_words[index:]
        if wrapper.replaces and (mark := _replacement_mark(command_words[1:index])):
            rest = tuple(_with_mark(word, mark) for word in rest)
        if not rest and part.more_arguments:
            return f"the command of {program} is not known in advance"
        return self._run(program, part, rest, inner, more=wrapper.appends)

    def _resolve_launcher(self, program: str, part: CommandPart, inner: list[CommandPart]) -> str:
        """Add the command behind ``npm exec``; an option before it is not modelled."""
        command_words = part.words
        for start in LAUNCHERS[program]:
            end = 1 + len(start)
            if [word.literal for word in command_words[1:end]] != list(start):
                continue
            if end < len(command_words) and command_words[end].literal == "--":
                end += 1
            if end < len(command_words) and not command_words[end].may_be_option:
                via = " ".join((program, *start))
                return self._run(via, part, command_words[end:], inner)
        return ""

    def _resolve_shell(self, program: str, part: CommandPart, inner: list[CommandPart]) -> str:
        command_words = part.words
        index, takes_script, reason = _after_shell_options(program, command_words)
        if reason:
            return reason
        if takes_script:
            script = command_words[index].literal if index < len(command_words) else None
            return self._resolve_script(program, f"{program} -c", script, part, inner)
        if index < len(command_words) or part.more_arguments:
            file = command_words[index].literal if index < len(command_words) else None
            unknown = file is None or STANDARD_INPUT.fullmatch(file)
            return f"the script of {program} is not known in advance" if unknown else ""
        documents = [
            redirection for redirection in part.redirections if "<" in redirection.operator
        ]
        document = documents[-1].document if documents else None
        return self._resolve_script(program, program, document, part, inner)

    def _resolve_script(
        self,
        program: str,
        via: str,
        script: str | None,
        part: CommandPart,
        inner: list[CommandPart],
    ) -> str:
        if script is None or program in ("zsh", "fish", "csh", "tcsh"):
            return f"the commands of {via} are not known in advance"
        depth = self._depth + 8  # far below the limit of the stack
        line = _Resolver(self._names).parse(script, (*part.inside, via), depth)
        inner += line.parts
        return line.error

    # Builtins and programs with rules of their own -----------------------------------------------

    def _resolve_eval(self, part: CommandPart, inner: list[CommandPart]) -> str:
        texts = [word.literal for word in part.arguments]
        if all(text is not None for text in texts):
            self._resolve_script("eval", "eval", " ".join(filter(None, texts)), part, inner)
        return "eval runs text as commands"

    def _resolve_trap(self, part: CommandPart, inner: list[CommandPart]) -> str:
        arguments = [word for word in part.arguments if word.literal != "--"]
        if not arguments or arguments[0].literal in ("-", "", "-l", "-p"):
            return ""
        return self._resolve_script("trap", "trap", arguments[0].literal, part, inner)

    def _resolve_declare(self, part: CommandPart, inner: list[CommandPart]) -> str:
        for word in part.arguments:
            name = re.match(r"[A-Za-z_]\w*(?=\+?=|\Z)", word.prefix, re.ASCII)
            if word.literal is not None and re.fullmatch(r"[-+][aAfFgpxrltu]*", word.literal):
                continue
            if name is None or (word.literal is None and "=" not in word.prefix):
                return f"{word.raw} may set any variable"
            if not word.single:
                return f"{word.raw} may set any variable"
            if DECIDING_VARIABLES.fullmatch(name[0]):
                return f"{name[0]} decides which programs run"
            value = word.literal.partition("=")[2] if word.literal is not None else None
            if "=" in word.prefix:
                self._names.assign(name[0], value)
        return ""

    def _read_variables(self, part: CommandPart, inner: list[CommandPart]) -> str:
        """``read``, ``mapfile``, ``getopts``, ``unset``, ``printf -v``, ``wait -p``: any argument
        may be the name of a variable."""
        first = part.arguments[0] if part.arguments else CommandWord(raw="", text="")
        sets_variable = first.may_be_option and (first.literal or "-v").startswith("-v")
        if part.name == "printf" and not sets_variable:
            return ""
        for word in part.arguments:
            text = word.literal
            if text is None or "[" in text:
                return f"{word.raw} may set any variable"
            if text.startswith("-") and part.name in ("mapfile", "readarray") and "C" in text:
                return f"{part.name} -C runs commands"
            # The name may follow its option without a space: ``printf -vPATH``, ``read -raPATH``.
            letters = re.match(r"-\w*", text)
            starts = range(2, letters.end()) if letters else (0,)
            for name in (text[start:] for start in starts):
                if DECIDING_VARIABLES.fullmatch(name):
                    return f"{name} decides which programs run"
                self._names.assign(name, None)
        return ""

    def _resolve_test(self, part: CommandPart, inner: list[CommandPart]) -> str:
        for flag, operand in zip(part.arguments, part.arguments[1:], strict=False):
            names = flag.literal in ("-v", "-R") or (flag.literal is None and flag.may_be_option)
            if names and (operand.literal is None or "[" in operand.literal):
                return f"{operand.raw} may be evaluated"
        return ""

    def _resolve_find(self, part: CommandPart, inner: list[CommandPart]) -> str:
        arguments = part.arguments
        if part.more_arguments:
            return "the arguments of find are not known in advance"
        index = 0
        while index < len(arguments):
            word = arguments[index]
            index += 1
            if word.literal is None and word.may_be_option:
                return "the arguments of find are not known in advance"
            if word.literal not in ("-exec", "-execdir", "-ok", "-okdir"):
                continue
            end = index
            while end < len(arguments) and arguments[end].literal not in (";", "+"):
                end += 1
            command = [_with_mark(argument, "{}") for argument in arguments[index:end]]
            if reason := self._run(f"find {word.literal}", part, command, inner):
                return reason
            index = end + 1
        return ""

    def _resolve_git(self, part: CommandPart, inner: list[CommandPart]) -> str:
        return git_problem(part.arguments, more=part.more_arguments)

    def _always(self, part: CommandPart, inner: list[CommandPart]) -> str:
        return f"{part.name} changes which commands run" if part.arguments else ""

    def _resolve_source(self, part: CommandPart, inner: list[CommandPart]) -> str:
        return f"{part.name} runs the commands of a file in this shell"

    def _resolve_fc(self, part: CommandPart, inner: list[CommandPart]) -> str:
        return f"{part.name} runs commands that are not named here"

    def _resolve_jobs(self, part: CommandPart, inner: list[CommandPart]) -> str:
        options = (word.literal if word.literal is not None else "-x" for word in part.arguments)
        return (
            "jobs -x runs a command"
            if any(text[:1] == "-" and "x" in text for text in options)
            else ""
        )

    def _resolve_let(self, part: CommandPart, inner: list[CommandPart]) -> str:
        for word in part.arguments:
            if word.literal is not None and re.search(r"[$`\\\"']", word.literal):
                # Quotes do not help: the subscript of 'a[$(cmd)]=1' is expanded once more.
                return f"let evaluates {word.raw}"
            self._names.evaluate(word.literal if word.literal is not None else "$()")
        return ""


_SHELL_OPTIONS = frozenset(
    {
        "--",
        "--login",
        "--norc",
        "--noprofile",
        "--posix",
        "--restricted",
        "--verbose",
        "--noediting",
    }
)

_Special = Callable[[_Resolver, CommandPart, "list[CommandPart]"], str]
_SPECIAL: dict[str, _Special] = {
    "eval": _Resolver._resolve_eval,
    "trap": _Resolver._resolve_trap,
    "find": _Resolver._resolve_find,
    "gfind": _Resolver._resolve_find,
    "git": _Resolver._resolve_git,
    "source": _Resolver._resolve_source,
    ".": _Resolver._resolve_source,
    "fc": _Resolver._resolve_fc,
    "coproc": _Resolver._resolve_fc,
    "let": _Resolver._resolve_let,
    "jobs": _Resolver._resolve_jobs,
    "test": _Resolver._resolve_test,
    "[": _Resolver._resolve_test,
    **dict.fromkeys(
        ("declare", "typeset", "local", "export", "readonly"), _Resolver._resolve_declare
    ),
    **dict.fromkeys(
        ("read", "mapfile", "readarray", "getopts", "unset", "printf", "wait"),
        _Resolver._read_variables,
    ),
    **dict.fromkeys(
        ("alias", "shopt", "enable", "hash", "bind", "complete", "compgen"), _Resolver._always
    ),
}


def _mark_unresolved(part: CommandPart, reason: str) -> CommandPart:
    return replace(part, unresolved=reason) if reason and not part.unresolved else part


def _after_shell_options(
    program: str, command_words: Sequence[CommandWord]
) -> tuple[int, bool, str]:
    """Return where the options of a shell end, whether a script follows, and any problem."""
    index, takes_script = 1, False
    unknown = f"the options of {program} are not known in advance"
    while index < len(command_words) and (
        command_words[index].may_be_option or command_words[index].prefix.startswith("+")
    ):
        text = command_words[index].literal
        if text is None or (text.startswith("--") and text not in _SHELL_OPTIONS):
            return index, False, unknown
        index += 1
        if text in ("-", "--"):
            break
        if not text.startswith("--"):
            if "s" in text:
                return index, False, f"{program} reads its commands from its input"
            takes_script = takes_script or "c" in text
            index += "o" in text or "O" in text
    if any(_is_open(word) for word in command_words[1 : index + 1]):
        return index, False, unknown
    return index, takes_script, ""


def _after_options(
    program: str, wrapper: Wrapper, command_words: Sequence[CommandWord]
) -> tuple[int, str]:
    """Return where the options of a wrapper end, or why that is not known."""
    index = 1
    while index < len(command_words) and command_words[index].may_be_option:
        text = command_words[index].literal
        if text is None:
            return index, f"the options of {program} are not known in advance"
        if text in ("-", "--"):  # "-" is a command, but of env an option
            return index + (text == "--" or program == "env"), ""
        word_count = wrapper.option(text)
        if word_count is None:
            return index, f"{program} {text} is not known"
        index += word_count
    return index, ""


def _is_open(word: CommandWord) -> bool:
    """Whether a word may expand to no or several arguments, or to an option."""
    return not word.single or (word.literal is None and word.may_be_option)


def _with_mark(word: CommandWord, mark: str) -> CommandWord:
    """Return ``word``, with an unknown value if it has ``mark``, which is replaced at run time."""
    if mark not in word.raw and mark not in (word.text or ""):
        return word
    prefix = word.prefix.partition(mark)[0]
    return replace(word, text=None, expands=("variable", *word.expands), prefix=prefix)


def _replacement_mark(options: Sequence[CommandWord]) -> str:
    """Return the mark that ``xargs`` replaces by its input; empty if there is none."""
    for index, word in enumerate(options):
        text = word.literal or ""
        if text in ("-i", "--replace"):
            return "{}"
        if text == "-I":
            return (options[index + 1].literal or "") if index + 1 < len(options) else ""
        if match := re.match(r"(?:-[Ii]|--replace=)(.+)", text, re.DOTALL):
            return match[1]
    return ""
