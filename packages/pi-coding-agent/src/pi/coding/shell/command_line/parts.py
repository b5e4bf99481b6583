"""Records of a parsed command line."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record
from pi.coding.shell.command_line.programs import LAUNCHED

Expansion: TypeAlias = Literal[
    "variable", "command", "arithmetic", "process", "glob", "brace", "tilde"
]

WRITING = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
"""Operators that create or change their target. ``>&`` does if its target is not a descriptor."""


class CommandWord(Record):
    """One word of a command, as written and as the program receives it."""

    raw: str
    text: str | None = None
    """The value after removing quotes; ``None`` if it is only known at run time. With ``glob`` or
    ``tilde`` in ``expands`` it is the pattern."""
    expands: tuple[Expansion, ...] = ()
    single: bool = True
    """Whether the program receives exactly one argument for it."""
    prefix: str = ""
    """The beginning of the value, as far as it is known."""

    @property
    def literal(self) -> str | None:
        """The value, if it does not depend on anything at run time."""
        return None if self.expands else self.text

    @property
    def may_be_option(self) -> bool:
        """Whether a program may receive an argument that begins with ``-``."""
        if self.literal is not None:
            return self.literal.startswith("-")
        if not self.prefix or self.prefix.startswith("-"):
            return True
        # A value that is split may bring further words; a glob and braces repeat the prefix.
        values = {"variable", "command", "arithmetic"}
        return not self.single and not values.isdisjoint(self.expands)


class Assignment(Record):
    """A variable that is set, for one command or for the rest of the line."""

    name: str
    value: CommandWord


class Redirection(Record):
    """A redirection of a command."""

    operator: str
    target: CommandWord
    """The file; of a here-document its delimiter."""
    descriptor: str = ""
    document: str | None = None
    """The text of a here-document or here-string; ``None`` if it is only known at run time."""

    @property
    def writes(self) -> bool:
        """Whether it may create or change a file."""
        if self.operator == ">&":
            text = self.target.literal
            return text is None or not (text.rstrip("-").isdigit() or text == "-")
        return self.operator in WRITING


class CommandPart(Record):
    """One command that the line runs, also inside substitutions, functions and other commands.

    Without words it only sets variables or opens files.
    """

    words: tuple[CommandWord, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    inside: tuple[str, ...] = ()
    """The constructs around it, outermost first: ``substitution``, ``function f``, ``sudo``,
    ``bash -c``."""
    more_arguments: bool = False
    """Whether arguments are appended at run time, as by ``xargs``."""
    unresolved: str = ""
    """Why it is not known which programs this runs; empty if it is known."""

    @property
    def name(self) -> str | None:
        """The command as written, without quotes; ``None`` without one or if it is not known."""
        return self.words[0].literal if self.words else None

    @property
    def arguments(self) -> tuple[CommandWord, ...]:
        """The words behind the name."""
        return self.words[1:]

    @property
    def is_launched(self) -> bool:
        """Whether a program such as ``npm exec`` runs it, whose own rules cover what it runs."""
        return not LAUNCHED.isdisjoint(self.inside)


class CommandLine(Record):
    """Everything that a command line runs."""

    parts: tuple[CommandPart, ...] = ()
    error: str = ""
    """The syntax error, or the limit that ended the parsing; ``parts`` is then incomplete."""
    inherited: tuple[str, ...] = ()
    """Variables that expressions evaluate and the line does not set."""

    @property
    def unresolved(self) -> tuple[str, ...]:
        """All reasons why it is not known what runs, without duplicates."""
        reasons = [part.unresolved for part in self.parts]
        return tuple(dict.fromkeys(reason for reason in (self.error, *reasons) if reason))

    @property
    def is_resolved(self) -> bool:
        """Whether ``parts`` names every program that can run."""
        return not self.unresolved

    @property
    def redirections(self) -> tuple[Redirection, ...]:
        """The redirections of all parts."""
        return tuple(redirection for part in self.parts for redirection in part.redirections)

    @property
    def has_substitutions(self) -> bool:
        """Whether a word contains the output of a command, or is a pipe to one."""
        for part in self.parts:
            values = (assignment.value for assignment in part.assignments)
            targets = (redirection.target for redirection in part.redirections)
            words = (*part.words, *values, *targets)
            if any({"command", "process"} & set(word.expands) for word in words):
                return True
            if any("substitution" in construct for construct in part.inside):
                return True
        return False
