"""Decides about a tool call: deny wins over ask, ask over allow; else the mode decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pi.batteries.permissions import commands
from pi.batteries.permissions.paths import (
    BaseFolders,
    NamedFile,
    TouchedPath,
    covers_restricted,
    folders_of,
    is_below,
    is_protected,
    named_files,
    rule_matches,
    touched,
)
from pi.batteries.permissions.rules import Effect, Mode, Rule, RuleSet
from pi.extension import CommandPart, Json, Record, ToolApproval

Action: TypeAlias = Literal["allow", "ask", "deny"]
_PATH_MEMBERS = frozenset({"path", "file", "filepath", "file_path", "paths", "files", "target"})
_FOLDER_READERS = frozenset({"grep", "find", "ls"})
_URL = re.compile(r"(?i)\s*(https?|wss?|ftp)://")
_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class ToolRequest(Record):
    """A tool call that waits for a decision."""

    tool: str
    input: Json
    approval: ToolApproval = ToolApproval()

    @property
    def command(self) -> str | None:
        """The command line of ``bash``; ``None`` for other tools."""
        text = self.input.get("command")
        return text if self.tool == "bash" and isinstance(text, str) else None

    @property
    def urls(self) -> tuple[str, ...]:
        """All addresses in the arguments."""
        return tuple(text for text in _texts(self.input) if _URL.match(text))


class Decision(Record):
    """The decision about a call, and its reason."""

    action: Action
    reason: str = ""
    grants: tuple[str, ...] = ()
    """Rules that would allow the call; if empty, it can only be allowed once."""


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _texts(member)


def paths_of(request: ToolRequest, places: BaseFolders) -> tuple[TouchedPath, ...]:
    """The files in the arguments of a file tool; the project for searches without a path."""
    found: list[str] = []

    def collect(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, member in value.items():
                collect(member, str(key).casefold())
        elif isinstance(value, list | tuple):
            for member in value:
                collect(member, name)
        elif isinstance(value, str) and name in _PATH_MEMBERS and not _URL.match(value):
            found.append(value)

    collect(request.input, "")
    if not found and request.tool in _FOLDER_READERS:
        found.append(places.cwd)
    # Users mention files with ``@``; the tools remove it.
    return tuple(touched(text.removeprefix("@"), places.cwd, places) for text in found)


def decide(request: ToolRequest, rules: RuleSet, mode: Mode, places: BaseFolders) -> Decision:
    """The decision about one call."""
    if mode == "off":
        return Decision(action="allow")
    if request.command is not None:
        decision = _Command(request, rules, mode, places).decide()
    else:
        decision = _Tool(request, rules, mode, places).decide()
    if mode == "ask-all" and decision.action != "deny":
        # No grants: an answer is about one call.
        return Decision(action="ask", reason=decision.reason or request.approval.reason)
    return decision


class _Tool:
    """A call of any tool but ``bash``."""

    def __init__(
        self, request: ToolRequest, rules: RuleSet, mode: Mode, places: BaseFolders
    ) -> None:
        self._request = request
        self._rules = rules
        self._mode = mode
        self._places = places
        self._paths = paths_of(request, places)
        self._writes = request.approval.tier != "read"

    def decide(self) -> Decision:
        request, tier = self._request, self._request.approval.tier
        is_allowed = tier == "read" or self._matching("allow") is not None
        if (rule := self._matching("deny")) is not None:
            return Decision(action="deny", reason=_rule_reason(rule))
        if self._mode == "read-only" and not is_allowed:
            return Decision(action="deny", reason="The permission mode is read-only.")
        if reason := self._must_ask():
            return Decision(action="ask", reason=reason)
        edits = tier == "write" and self._mode == "auto-edit" and self._is_inside()
        if is_allowed or edits:
            return Decision(action="allow")
        return Decision(action="ask", reason=request.approval.reason, grants=self._grants())

    def _must_ask(self) -> str:
        """Why the user must be asked even if a rule allows the call; empty if not."""
        protected = [p for p in self._paths if self._writes and is_protected(p, self._places)]
        if protected:
            return f"{protected[0].written} decides what runs later. It is always asked about."
        if self._request.approval.must_ask:
            return self._request.approval.reason or f"{self._request.tool} always asks."
        rule = self._matching("ask") or self._restricted_inside()
        return "" if rule is None else _rule_reason(rule)

    def _matching(self, effect: Effect) -> Rule | None:
        for rule in self._rules.of(effect):
            if self._matches(rule):
                return rule
        return None

    def _matches(self, rule: Rule) -> bool:
        request = self._request
        match rule.subject:
            case "edit":
                return self._writes and self._by_path(rule)
            case "read":
                # An edit shows the file, so restrictions of reading apply to it as well.
                applies = not self._writes or rule.effect != "allow"
                return applies and self._by_path(rule)
            case "url":
                return bool(request.urls) and self._by_url(rule)
            case "tool":
                return fnmatchcase(request.tool.casefold(), rule.name_pattern.casefold())
            case _:
                return False

    def _by_path(self, rule: Rule) -> bool:
        if not self._paths:
            return False
        found = (rule_matches(rule, path, self._places) for path in self._paths)
        return all(found) if rule.effect == "allow" else any(found)

    def _by_url(self, rule: Rule) -> bool:
        hosts = [_host(url) for url in self._request.urls]
        domain = rule.specifier.removeprefix("domain:").casefold()
        found = (not domain or fnmatchcase(host, domain) for host in hosts)
        if rule.effect == "allow":
            return all(found)
        return any(found) or any(host.endswith(f".{domain}") for host in hosts if domain)

    def _restricted_inside(self) -> Rule | None:
        """A restricting rule about a file inside a searched folder."""
        if self._writes or self._request.tool not in _FOLDER_READERS:
            return None
        rules = (*self._rules.of("deny", "read"), *self._rules.of("ask", "read"))
        found = (covers_restricted(path, rules, self._places) for path in self._paths)
        return next((rule for rule in found if rule is not None), None)

    def _is_inside(self) -> bool:
        cwd = touched(".", self._places.cwd, self._places)
        return bool(self._paths) and all(
            is_below(path.lexical, cwd.lexical) and is_below(path.real, cwd.real)
            for path in self._paths
        )

    def _grants(self) -> tuple[str, ...]:
        request = self._request
        if request.urls:
            hosts = dict.fromkeys(_host(url) for url in request.urls)
            return tuple(f"WebFetch(domain:{host})" for host in hosts if host)
        if request.approval.tier == "write" and self._paths:
            if self._is_inside():
                return ("Edit(./**)",)
            return tuple(f"Edit(/{path.real})" for path in self._paths)
        return (request.tool,)


class _Command:
    """A call of ``bash``."""

    def __init__(
        self, request: ToolRequest, rules: RuleSet, mode: Mode, places: BaseFolders
    ) -> None:
        self._request = request
        self._rules = rules
        self._mode = mode
        self._places = places
        self._line = commands.parsed(request.command or "")

    def decide(self) -> Decision:
        denied = commands.restricting(self._line, self._command_rules("deny"))
        by_files = self._by_files("deny")
        if denied.rule is not None and denied.certain:
            return Decision(action="deny", reason=_rule_reason(denied.rule))
        if by_files is not None and by_files.action == "deny":
            return by_files
        missing = self._missing()
        doubt = self._doubt(denied) or by_files or self._by_files("ask") or self._protected()
        if self._mode == "read-only" and (missing or doubt):
            return Decision(action="deny", reason="The permission mode is read-only.")
        if doubt is not None:
            return doubt
        if missing or self._request.approval.must_ask:
            reason = self._request.approval.reason
            return Decision(action="ask", reason=reason, grants=self._grants(missing))
        return Decision(action="allow")

    def _doubt(self, denied: commands.Verdict) -> Decision | None:
        """A decision to ask, even if rules allow every part; ``None`` if nothing is in doubt."""
        if unknown := self._unknown():
            return Decision(action="ask", reason=unknown)
        if denied.rule is not None:
            return Decision(action="ask", reason=_rule_reason(denied.rule, certain=False))
        verdict = commands.restricting(self._line, self._command_rules("ask"))
        if verdict.rule is not None:
            return Decision(
                action="ask", reason=_rule_reason(verdict.rule, certain=verdict.certain)
            )
        return None

    def _command_rules(self, effect: Effect) -> tuple[Rule, ...]:
        of_tool = (
            rule
            for rule in self._rules.of(effect, "tool")
            if fnmatchcase("bash", rule.name_pattern.casefold())
        )
        return (*self._rules.of(effect, "command"), *of_tool)

    def _unknown(self) -> str:
        if self._line.unresolved:
            return f"It is not known in advance what this runs: {self._line.unresolved[0]}."
        environ = self._request.input.get("env")
        names = environ if isinstance(environ, dict) else {}
        for name in names:
            if not commands.HARMLESS_VARIABLES.fullmatch(str(name)):
                return f"The variable {name} is set for the command."
        return ""

    def _missing(self) -> list[CommandPart]:
        strict = bool(self._command_rules("deny") or self._command_rules("ask"))
        rules = self._command_rules("allow")
        missing = commands.not_allowed(self._line, rules, strict=strict)
        if missing or not self._line.parts:
            return missing
        # A redirection that writes needs the same permission as an edit.
        for part in self._line.parts:
            for each in part.redirections:
                if each.writes and not self._may_write(each.target.literal):
                    return [part]
        return []

    def _may_write(self, text: str | None) -> bool:
        if text in _HARMLESS_FILES:
            return True
        folders = self._folders()
        is_known = folders is not None and len(folders) == 1
        if text is None or not (is_known or text.startswith("/")):
            return False
        path = touched(text, self._cwd, self._places)
        if self._mode == "auto-edit" and is_below(
            path.real, touched(".", self._places.cwd, self._places).real
        ):
            return True
        return any(
            rule_matches(rule, path, self._places) for rule in self._rules.of("allow", "edit")
        )

    @property
    def _cwd(self) -> str:
        cwd = self._request.input.get("cwd")
        folder = cwd if isinstance(cwd, str) and cwd else "."
        return touched(folder, self._places.cwd, self._places).lexical

    def _folders(self) -> list[str] | None:
        if self._places.keeps_folder and not self._request.input.get("cwd"):
            return None
        return folders_of(self._line, self._cwd)

    def _files(self) -> Iterable[tuple[NamedFile, TouchedPath | None]]:
        folders = self._folders()
        for file in named_files(self._line):
            bases = [self._cwd]
            if folders is None and not file.text.startswith(("/", "~", "-")):
                yield (
                    file,
                    None,
                )  # beside the usual folder, because some names are always asked about
            for folder in (folders or [])[1:]:
                bases.append(touched(folder, bases[-1], self._places).lexical)
            for base in bases:
                yield file, touched(file.text, base, self._places)

    def _by_files(self, effect: Effect) -> Decision | None:
        """The decision of rules about files for a command; ``None`` if no rule applies."""
        rules = self._rules.of(effect, "read", "edit")
        rules = tuple(rule for rule in rules if rule.specifier)
        if not rules:
            return None
        for file, path in self._files():
            if path is None or not file.is_known:
                if self._may_be(path, rules):
                    reason = (
                        f"{file.text or 'A file'} is not known in advance. {_rule_reason(rules[0])}"
                    )
                    return Decision(action="ask", reason=reason)
                continue
            for rule in rules:
                if rule_matches(rule, path, self._places):
                    return Decision(
                        action="deny" if effect == "deny" else "ask", reason=_rule_reason(rule)
                    )
            inside = covers_restricted(path, rules, self._places)
            if inside is not None and file.text and not file.text.startswith("-"):
                return Decision(action="ask", reason=_rule_reason(inside))
        return None

    def _may_be(self, path: TouchedPath | None, rules: Sequence[Rule]) -> bool:
        """Whether a path of which only the beginning is known may match a rule."""
        if path is None:
            return True
        known = re.split(r"[*?\[{]", path.lexical, maxsplit=1)[0]
        folder = known if known.endswith("/") else known.rpartition("/")[0] or "/"
        place = touched(folder, "/", self._places)
        if not re.search(r"[*?\[{]", path.lexical) and not path.written:
            return True  # a variable, so any path
        return (
            any(rule_matches(rule, place, self._places) for rule in rules)
            or covers_restricted(place, rules, self._places) is not None
        )

    def _protected(self) -> Decision | None:
        for file, path in self._files():
            if path is not None and file.may_write and is_protected(path, self._places):
                reason = f"{file.text} decides what runs later. It is always asked about."
                return Decision(action="ask", reason=reason)
        return None

    def _grants(self, missing: Sequence[CommandPart]) -> tuple[str, ...]:
        found = [commands.grant_for(part) for part in missing]
        writes = any(each.writes for part in missing for each in part.redirections)
        if writes or None in found:
            return ()
        return tuple(dict.fromkeys(rule for rule in found if rule))


def _rule_reason(rule: Rule, *, certain: bool = True) -> str:
    source = f" ({rule.source})" if rule.source else ""
    verb = "applies" if certain else "may apply"
    return f"The {rule.effect} rule {rule.text}{source} {verb}."


def _host(url: str) -> str:
    try:
        return (urlsplit(url.strip()).hostname or "").casefold()
    except ValueError:
        return ""
