"""Decides about a call of ``bash``: by rules about commands and files, and by what it changes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from glob import has_magic, iglob
from itertools import islice
from pathlib import Path

from pi.batteries.permissions import commands
from pi.batteries.permissions.archives import shown_members
from pi.batteries.permissions.dangers import danger
from pi.batteries.permissions.grants import rules_for
from pi.batteries.permissions.paths import (
    BaseFolders,
    NamedFile,
    TouchedPath,
    folders_of,
    is_inside,
    is_protected,
    leads_through_process,
    named_files,
    placed_files,
    touched,
)
from pi.batteries.permissions.patterns import FileMatcher, covers_restricted, rule_matches
from pi.batteries.permissions.project_runs import tests_project
from pi.batteries.permissions.repository import program_reason
from pi.batteries.permissions.requests import Action, Decision, ToolRequest, rule_reason
from pi.batteries.permissions.rules import (
    Effect,
    Mode,
    Rule,
    RuleSet,
    matches_tool,
)
from pi.batteries.permissions.searches import rule_of_unnamed_files
from pi.batteries.permissions.unasked import (
    FILE_CHANGERS,
    changes_repository,
    changes_unnamed_files,
    has_protected_files,
    is_of_project,
    makes_links,
    written_words,
)
from pi.extension.guards import CommandPart, CommandWord, change_reason

_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})
_REPLACING = frozenset({"rm", "rmdir", "mv", "sed", "touch", "mkdir"})
"""Programs that do more with a file than to write into it."""
_MAX_MATCHES = 2000
"""Maximum of files of a glob that are looked at."""


class CommandDecision:
    """A call of ``bash``."""

    def __init__(
        self, request: ToolRequest, rules: RuleSet, mode: Mode, base_folders: BaseFolders
    ) -> None:
        self._request = request
        self._rules = rules
        self._mode = mode
        self._base_folders = base_folders
        self._line = commands.parsed(request.command or "")

    def denied(self) -> Decision:
        """What the deny rules alone decide; a call that may be meant asks."""
        rules = self._command_rules("deny")
        denied = commands.restricting(self._line, rules)
        by_files = self._by_files("deny")
        if denied.rule is not None and denied.certain:
            return Decision(action="deny", reason=rule_reason(denied.rule))
        if by_files is not None and by_files.action == "deny":
            return by_files
        doubt = self._doubt(denied) if rules else None
        return doubt or by_files or Decision(action="allow")

    def decide(self) -> Decision:
        """The decision: deny wins over doubt, and doubt over what is allowed."""
        denied = commands.restricting(self._line, self._command_rules("deny"))
        by_files = self._by_files("deny")
        if denied.rule is not None and denied.certain:
            return Decision(action="deny", reason=rule_reason(denied.rule))
        if by_files is not None and by_files.action == "deny":
            return by_files
        missing = self._missing()
        doubt = self._doubt(denied) or by_files or self._by_files("ask") or self._protected()
        if self._mode == "read-only" and (missing or doubt):
            return Decision(action="deny", reason="The permission mode is read-only.")
        if doubt is not None:
            return doubt
        if missing or self._request.approval.must_ask:
            return self._question(missing)
        return Decision(action="allow")

    def _question(self, missing: Sequence[CommandPart]) -> Decision:
        if missing and (reason := danger(self._line.parts, self._bases(), self._base_folders)):
            return Decision(action="ask", reason=reason)
        return Decision(
            action="ask",
            reason=self._request.approval.reason,
            grants=self._grants(missing),
            runs_project=self._only_runs_project(missing),
        )

    def _doubt(self, denied: commands.Verdict) -> Decision | None:
        """A decision to ask, even if rules allow every part; ``None`` if nothing is in doubt."""
        if unknown := self._unknown():
            return Decision(action="ask", reason=unknown)
        if denied.rule is not None:
            return Decision(action="ask", reason=rule_reason(denied.rule, certain=False))
        verdict = commands.restricting(self._line, self._command_rules("ask"))
        if verdict.rule is not None:
            return Decision(action="ask", reason=rule_reason(verdict.rule, certain=verdict.certain))
        return None

    def _command_rules(self, effect: Effect) -> tuple[Rule, ...]:
        of_tool = (rule for rule in self._rules.of(effect, "tool") if matches_tool(rule, "bash"))
        return (*self._rules.of(effect, "command"), *of_tool)

    def _unknown(self) -> str:
        if self._line.unresolved:
            return f"It is not known in advance what this runs: {self._line.unresolved[0]}."
        if self._base_folders.keeps_folder and (reason := self._kept_by_the_shell()):
            return reason
        environ = self._request.input.get("env")
        names = environ if isinstance(environ, dict) else {}
        for name in names:
            if not commands.HARMLESS_VARIABLES.fullmatch(str(name)):
                return f"The variable {name} is set for the command."
        return ""

    def _kept_by_the_shell(self) -> str:
        """Why commands of other calls in the same shell matter; empty if they do not."""
        if self._line.inherited:
            return f"An earlier command may have set {self._line.inherited[0]} to an expression."
        for part in self._line.parts:
            if any(construct.startswith("function ") for construct in part.inside):
                return "The shell keeps the function, which later commands may run elsewhere."
        return ""

    def _missing(self) -> list[CommandPart]:
        """The parts that neither a rule nor the mode allows."""
        strict = bool(self._command_rules("deny") or self._command_rules("ask"))
        rules = self._command_rules("allow")
        missing = [
            part
            for part in self._line.parts
            if not part.is_launched
            and not commands.is_allowed(part, rules, strict=strict)
            and not self._runs_unasked(part)
        ]
        writing = self._part_with_files()
        return missing or ([] if writing is None else [writing])

    def _part_with_files(self) -> CommandPart | None:
        """The first part with a redirection that needs consent, as an edit does."""
        for part in self._line.parts:
            for redirection in part.redirections:
                if redirection.writes and not self._may_write(redirection.target.literal):
                    return part
                if redirection.operator == "<" and _may_connect(redirection.target):
                    return part
        return None

    def _only_runs_project(self, missing: Sequence[CommandPart]) -> bool:
        """Whether ``auto-edit`` needs consent for tests, checks and builds of the project alone.

        The whole line can then run in a sandbox. Rules about files would not be respected in it,
        and what a rule allows may need more than it.
        """
        rules = self._rules
        if self._mode != "auto-edit" or self._request.approval.must_ask:
            return False
        if rules.of("deny", "edit") or rules.of("ask", "edit"):
            return False
        if self._base_folders.keeps_folder:  # such commands run in a shell that has already started
            return False
        if rules.of("deny", "read") or rules.of("ask", "read") or self._part_with_files():
            return False
        others = (part for part in self._line.parts if part not in missing)
        return all(map(self._tests_project, missing)) and all(
            part.is_launched or commands.is_allowed(part, (), strict=False)
            for part in others
            if not self._runs_unasked(part)
        )

    def _tests_project(self, part: CommandPart) -> bool:
        is_known = not part.unresolved and not commands.decisive_assignments(part)
        return is_known and tests_project(part)

    def _runs_unasked(self, part: CommandPart) -> bool:
        """Whether a part only reads, or, in ``auto-edit``, only changes files of the project."""
        if part.unresolved or commands.decisive_assignments(part) or not part.words:
            return False
        if self._base_folders.is_confined and self._mode == "auto-edit" and tests_project(part):
            return True
        if is_of_project(part.name or "", self._base_folders):
            return False
        reads = not change_reason(part)
        if commands.base_name(part.name or "") == "git":
            changes = self._mode == "auto-edit" and changes_repository(part.arguments)
            if changes and part.arguments[0].literal == "stash":
                changes = not has_protected_files(self._base_folders)
            if changes and part.arguments[0].literal == "mv":
                changes = self._moves_inside(part)
            return (reads or changes) and not self._git_reason(part, changes=not reads)
        return reads or (self._mode == "auto-edit" and self._stays_inside(part))

    def _stays_inside(self, part: CommandPart) -> bool:
        operands = written_words(part)
        if operands is None or not all(self._may_change(part, word.literal) for word in operands):
            return False
        return all(self._may_write(file.text) for file in placed_files(part))

    def _moves_inside(self, part: CommandPart) -> bool:
        """Whether ``git mv`` only moves files of the project: its repository may be larger."""
        operands = [word.literal for word in part.arguments[1:]]
        if not all(self._may_write(word) for word in operands if not (word or "").startswith("-")):
            return False
        sources = (
            touched(word or "", self._cwd, self._base_folders).real for word in operands[:-1]
        )
        if any(Path(source).is_dir() for source in sources):
            return False
        return all(self._may_write(file.text) for file in placed_files(part))

    def _may_change(self, part: CommandPart, text: str | None) -> bool:
        if text is None or not self._may_write(text):
            return False
        if part.name in _REPLACING and text in _HARMLESS_FILES:
            return False  # it would be removed, not written to
        # A folder that is moved takes what is protected in it along.
        moves = part.name in ("mv", "rm")
        return not (moves and Path(touched(text, self._cwd, self._base_folders).real).is_dir())

    def _git_reason(self, part: CommandPart, *, changes: bool) -> str:
        """Why git may run programs that the repository names; empty if it runs none."""
        folders = self._folders()
        if folders is None:
            return "the folder is not known"
        bases = [self._cwd]
        for folder in folders[1:]:
            bases.append(touched(folder, bases[-1], self._base_folders).lexical)
        texts = [word.literal or "" for word in part.arguments]
        if "-C" in texts[:-1]:
            bases.append(
                touched(texts[texts.index("-C") + 1], bases[-1], self._base_folders).lexical
            )
        others = (other for other in self._line.parts if other is not part)
        makes_files = any(redirection.writes for redirection in self._line.redirections) or any(
            map(change_reason, others)
        )
        for base in bases:
            if makes_files and not Path(base, ".git").exists():
                return "the line may make the folder a repository"
            if reason := program_reason(Path(base), Path(self._base_folders.home), changes=changes):
                return reason
        return ""

    def _may_write(self, text: str | None) -> bool:
        if text in _HARMLESS_FILES:
            return True
        folders = self._folders()
        is_known = folders is not None and len(folders) == 1
        if text is None or not (is_known or text.startswith("/")):
            return False
        path = touched(text, self._cwd, self._base_folders)
        if self._may_be_linked(path):
            return False
        if self._mode == "auto-edit" and is_inside(path, self._base_folders):
            return True
        return any(
            rule_matches(rule, path, self._base_folders) for rule in self._rules.of("allow", "edit")
        )

    @cached_property
    def _cwd(self) -> str:
        cwd = self._request.input.get("cwd")
        folder = cwd if isinstance(cwd, str) and cwd else "."
        start = self._base_folders.session_cwd or self._base_folders.cwd
        return touched(folder, start, self._base_folders).lexical

    def _folders(self) -> list[str] | None:
        if self._base_folders.keeps_folder and not self._request.input.get("cwd"):
            return None
        return folders_of(self._line, self._cwd)

    def _bases(self) -> list[str]:
        """The folders in which parts of the line may run, as far as they are known."""
        bases = [self._cwd]
        for folder in (self._folders() or [self._cwd])[1:]:
            bases.append(touched(folder, bases[-1], self._base_folders).lexical)
        return bases

    @cached_property
    def _files(self) -> tuple[tuple[NamedFile, TouchedPath | None], ...]:
        """The words of the line that may name files, with the files in each possible folder."""
        return tuple(self._find_files())

    def _find_files(self) -> Iterable[tuple[NamedFile, TouchedPath | None]]:
        folders = self._folders()
        for file in named_files(self._line):
            bases = [self._cwd]
            if folders is None and not file.text.startswith(("/", "~", "-")):
                yield (
                    file,
                    None,
                )  # beside the usual folder, because some names are always asked about
            for folder in (folders or [])[1:]:
                bases.append(touched(folder, bases[-1], self._base_folders).lexical)
            for base in bases:
                if leads_through_process(file.text, base):
                    yield file, None
                yield file, touched(file.text, base, self._base_folders)

    def _by_files(self, effect: Effect) -> Decision | None:
        """The decision of rules about files for a command; ``None`` if no rule applies."""
        rules = self._rules.of(effect, "read", "edit")
        rules = tuple(rule for rule in rules if rule.specifier)
        if not rules:
            return None
        matchers = [FileMatcher(rule, self._base_folders) for rule in rules]
        for file, path in self._files:
            # A rule about edits concerns what is read only if the program may write it, too.
            apply = [m for m in matchers if m.rule.subject == "read" or file.may_write]
            if path is None or not file.is_known:
                possible = tuple(matcher.rule for matcher in apply)
                if possible and self._may_be(path, possible, is_anywhere=file.is_anywhere):
                    name = file.text or "A file"
                    reason = f"{name} is not known in advance. {rule_reason(possible[0])}"
                    return Decision(action="ask", reason=reason)
                continue
            for matcher in apply:
                if matcher.matches(path):
                    action: Action = "deny" if effect == "deny" else "ask"
                    return Decision(action=action, reason=rule_reason(matcher.rule))
            inside = covers_restricted(path, rules, self._base_folders)
            if inside is not None and file.text and not file.text.startswith("-"):
                return Decision(action="ask", reason=rule_reason(inside))
        return self._by_unnamed_files(rules)

    def _by_unnamed_files(self, rules: Sequence[Rule]) -> Decision | None:
        """A question about files that the line may show or change without naming them."""
        unnamed = self._rule_of_unnamed_files([rule for rule in rules if rule.subject == "read"])
        if unnamed is not None:
            reason = f"It may show files that it does not name. {rule_reason(unnamed)}"
            return Decision(action="ask", reason=reason)
        edits = [rule for rule in rules if rule.subject == "edit"]
        if edits and any(map(changes_unnamed_files, self._line.parts)):
            reason = f"It may change files that it does not name. {rule_reason(edits[0])}"
            return Decision(action="ask", reason=reason)
        return None

    def _rule_of_unnamed_files(self, rules: Sequence[Rule]) -> Rule | None:
        bases = self._bases()
        for part in self._line.parts:
            if rules and (rule := rule_of_unnamed_files(part, bases, rules, self._base_folders)):
                return rule
            for member in shown_members(part, bases, self._base_folders) if rules else ():
                for rule in rules:
                    if rule_matches(rule, member, self._base_folders):
                        return rule
        return None

    def _may_be(
        self, path: TouchedPath | None, rules: Sequence[Rule], *, is_anywhere: bool
    ) -> bool:
        """Whether a path of which only the beginning is known may match a rule."""
        if path is None:
            return True
        if is_anywhere or path.lexical.startswith(("/proc", "/dev/fd")):
            return True  # the rest may contain ``..``, or the folder is a link
        prefix = re.split(r"[*?\[{]", path.lexical, maxsplit=1)[0]
        folder = prefix if prefix.endswith("/") else prefix.rpartition("/")[0] or "/"
        folder_path = touched(folder, "/", self._base_folders)
        if not re.search(r"[*?\[{]", path.lexical) and not path.written:
            return True  # a variable, so any path
        return (
            any(rule_matches(rule, folder_path, self._base_folders) for rule in rules)
            or covers_restricted(folder_path, rules, self._base_folders) is not None
            or self._links_to(path.lexical, rules)
        )

    def _links_to(self, pattern: str, rules: Sequence[Rule]) -> bool:
        """Whether one of the files that a glob names is a link to a file of the rules."""
        if not has_magic(pattern):
            return False
        names = iglob(pattern, include_hidden=True)  # noqa: PTH207 (absolute)
        for name in islice(names, _MAX_MATCHES):
            path = touched(name, "/", self._base_folders)
            if path.real != path.lexical and any(
                rule_matches(rule, path, self._base_folders) for rule in rules
            ):
                return True
        return False

    def _may_be_linked(self, path: TouchedPath) -> bool:
        """Whether the line may make a link of a file or folder in the path, which is not there."""
        if len(self._line.parts) == 1:
            return False
        if any(map(self._moves_link, self._line.parts)) and not os.path.lexists(path.lexical):
            return True  # a relative link leads to another file at its new place
        makers = (part for part in self._line.parts if makes_links(part))
        if all(map(self._moves_files, makers)):
            return False
        return not Path(path.lexical).parent.exists()

    def _moves_link(self, part: CommandPart) -> bool:
        return any(path.is_symlink() for path in self._moved(part))

    def _moves_files(self, part: CommandPart) -> bool:
        """Whether a part only moves files, which makes no links."""
        moved = self._moved(part)
        return bool(moved) and all(path.is_file() and not path.is_symlink() for path in moved)

    def _moved(self, part: CommandPart) -> list[Path]:
        """The paths that ``mv`` and ``git mv`` move."""
        name, arguments = commands.base_name(part.name or ""), part.arguments
        if name != "mv" and not (name == "git" and arguments and arguments[0].literal == "mv"):
            return []
        texts = [word.text or "" for word in arguments if not word.may_be_option]
        texts = texts[name == "git" : -1]
        return [Path(touched(text, self._cwd, self._base_folders).lexical) for text in texts]

    def _protected(self) -> Decision | None:
        """A question about files that decide what runs later, or that may be such files."""
        for file, path in self._files:
            if path is None or not file.may_write:
                continue
            if is_protected(path, self._base_folders):
                reason = f"{file.text} decides what runs later. It is always asked about."
                return Decision(action="ask", reason=reason)
            if self._may_be_linked(path):
                reason = f"{file.text} may be below a link that the same line makes."
                return Decision(action="ask", reason=reason)
        for part in self._line.parts:
            if commands.base_name(part.name or "") in FILE_CHANGERS and change_reason(part):
                unknown = [word.raw for word in part.arguments if word.text is None]
                if part.more_arguments or unknown:
                    name = unknown[0] if unknown else "the input"
                    reason = f"The files that {part.name} changes are not known in advance: {name}."
                    return Decision(action="ask", reason=reason)
        return None

    def _grants(self, missing: Sequence[CommandPart]) -> tuple[str, ...]:
        redirections = (redirection for part in missing for redirection in part.redirections)
        if any(
            redirection.writes or _may_connect(redirection.target) for redirection in redirections
        ):
            return ()  # a rule about the command does not cover its files
        return rules_for(missing)


def _may_connect(target: CommandWord) -> bool:
    """Whether bash may open a connection instead of a file, such as ``/dev/tcp/host/80``."""
    text = target.literal
    if text is None:
        return not target.prefix or target.prefix.startswith("/dev")
    return text.startswith(("/dev/tcp/", "/dev/udp/"))
