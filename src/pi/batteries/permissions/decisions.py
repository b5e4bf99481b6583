"""Decides about a tool call: deny wins over ask, ask over allow; else the mode decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from pi.batteries.permissions import commands
from pi.batteries.permissions.paths import (
    BaseFolders,
    NamedFile,
    TouchedPath,
    covers_restricted,
    folders_of,
    is_inside,
    is_protected,
    named_files,
    rule_matches,
    touched,
    touched_by,
)
from pi.batteries.permissions.rules import (
    RESTRICTING,
    Effect,
    Mode,
    Rule,
    RuleSet,
    matches_tool,
    parse_rule,
)
from pi.extension import CallEffects, CommandPart, Json, Record, ToolApproval, replace

Action: TypeAlias = Literal["allow", "ask", "deny"]
_PATH_NAME = re.compile(
    r"(?:.*(?:path|file|dir|folder|directory)s?|(?:file|note)?name|target|source|destination|src|dst"
    r"|dest|from|to|root|cwd|uri|notebook)"
)
"""Names of arguments with files, without ``_`` and ``-``, for tools that declare no effects."""
MAX_TEXTS, MAX_TEXT = 500, 4096
"""Maximum of arguments, and of their characters, that are compared with rules about files."""
_URL = re.compile(r"(?i)\s*(https?|wss?|ftp)://")
_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"})


class ToolRequest(Record):
    """A tool call that waits for a decision."""

    tool: str
    input: Json
    approval: ToolApproval = ToolApproval()
    effects: CallEffects = CallEffects(is_declared=False)

    @property
    def command(self) -> str | None:
        """The command line of ``bash``; ``None`` for other tools."""
        text = self.input.get("command")
        return text if self.tool == "bash" and isinstance(text, str) else None

    @property
    def urls(self) -> tuple[str, ...]:
        """All addresses in the arguments."""
        texts = (*self.effects.urls, *_texts(self.input))
        return tuple(dict.fromkeys(text for text in texts if _URL.match(text)))


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


def files_of(request: ToolRequest, places: BaseFolders) -> tuple[TouchedPath, ...]:
    """The files of a call: those that its tool declares, else those that its arguments name."""
    declared = tuple(map(touched_by, request.effects.files))
    if request.effects.is_declared:
        return declared
    writes = request.approval.tier != "read"
    named = (replace(path, writes=writes) for path in _named_paths(request.input, places))
    return (*declared, *named)


def _named_paths(arguments: Any, places: BaseFolders) -> Iterable[TouchedPath]:
    """The files in arguments whose names stand for files."""

    def collect(value: Any, name: str) -> Iterable[str]:
        if isinstance(value, dict):
            for key, member in value.items():
                yield from collect(member, str(key).casefold().replace("_", "").replace("-", ""))
        elif isinstance(value, list | tuple):
            for member in value:
                yield from collect(member, name)
        elif isinstance(value, str) and _PATH_NAME.fullmatch(name) and not _URL.match(value):
            yield value

    for text in dict.fromkeys(collect(arguments, "")):
        yield from _readings(text, places)


def mentioned(request: ToolRequest, places: BaseFolders) -> tuple[TouchedPath, ...] | None:
    """The files that any text of the arguments may name; ``None`` if there are too many texts.

    Only for tools that declare no effects, such as those of MCP servers.
    """
    if request.effects.is_declared:
        return ()
    texts = [*dict.fromkeys(_texts(request.input))]
    if len(texts) > MAX_TEXTS:
        return None
    short = (text for text in texts if len(text) <= MAX_TEXT and "\n" not in text)
    return tuple(path for text in short for path in _readings(text, places))


def _readings(text: str, places: BaseFolders) -> Iterable[TouchedPath]:
    """The files that a text may stand for: as it is, and with ``%2e`` and the like decoded."""
    if "\0" in text:
        return
    # Users mention files with ``@``; the tools remove it.
    for plain in dict.fromkeys((text.removeprefix("@"), unquote(text), text.partition(":")[0])):
        yield touched(plain, places.session_cwd or places.cwd, places)


def decide(request: ToolRequest, rules: RuleSet, mode: Mode, places: BaseFolders) -> Decision:
    """The decision about one call; in the mode ``off`` only deny rules count."""
    if mode == "off":
        rules = replace(rules, rules=rules.of("deny"))
        if not rules.rules:
            return Decision(action="allow")
    asking_mode: Mode = "ask" if mode == "ask-all" else mode
    call = (_Tool if request.command is None else _Command)(request, rules, asking_mode, places)
    decision = call.denied() if mode == "off" else call.decide()
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
        self._places = replace(places, session_cwd=request.effects.cwd)
        self._files = files_of(request, self._places)
        self._written = tuple(path for path in self._files if path.writes)

    def decide(self) -> Decision:
        request, tier = self._request, self._request.approval.tier
        is_allowed = tier == "read" or self._matching("allow") is not None
        if (denied := self.denied()).action == "deny":
            return denied
        if self._mode == "read-only" and not is_allowed:
            return Decision(action="deny", reason="The permission mode is read-only.")
        if reason := self._must_ask():
            return Decision(action="ask", reason=reason)
        edits = tier == "write" and self._mode == "auto-edit" and self._is_inside()
        if is_allowed or edits:
            return Decision(action="allow")
        return Decision(action="ask", reason=request.approval.reason, grants=self._grants())

    def denied(self) -> Decision:
        """What the deny rules alone decide."""
        rule = self._matching("deny")
        if rule is not None:
            return Decision(action="deny", reason=_rule_reason(rule))
        rule = self._mentioned() if self._mode == "off" else None
        if rule is not None:
            return Decision(action="ask", reason=_rule_reason(rule, certain=False))
        return Decision(action="allow")

    def _must_ask(self) -> str:
        """Why the user must be asked even if a rule allows the call; empty if not."""
        scripts = self._mode == "ask"
        for path in self._written:
            if is_protected(path, self._places, with_scripts=scripts):
                return f"{path.written} decides what runs later. It is always asked about."
        if self._request.approval.must_ask:
            return self._request.approval.reason or f"{self._request.tool} always asks."
        rule = self._matching("ask") or self._ask_rule_below()
        if rule is not None:
            return _rule_reason(rule)
        rule = self._mentioned()
        return "" if rule is None else _rule_reason(rule, certain=False)

    def _matching(self, effect: Effect) -> Rule | None:
        for rule in self._rules.of(effect):
            if self._matches(rule):
                return rule
        return None

    def _matches(self, rule: Rule) -> bool:
        request = self._request
        match rule.subject:
            case "edit":
                return self._by_path(rule, self._written)
            case "read":
                # An edit shows the file, so restrictions of reading apply to it as well.
                if rule.effect == "allow":
                    return not self._written and self._by_path(rule, self._files)
                return self._by_path(rule, self._files)
            case "url":
                return bool(request.urls) and self._by_url(rule)
            case "tool":
                return matches_tool(rule, request.tool)
            case _:
                return False

    def _by_path(self, rule: Rule, paths: Sequence[TouchedPath]) -> bool:
        if not paths:
            # References that are no files, such as ``ssh://host/x``: only restricted as a whole.
            if rule.effect == "allow" or rule.specifier or not self._request.effects.urls:
                return False
            return rule.subject == "read" or self._request.approval.tier != "read"
        matches = (rule_matches(rule, path, self._places) for path in paths)
        return all(matches) if rule.effect == "allow" else any(matches)

    def _by_url(self, rule: Rule) -> bool:
        hosts = [_host(url) for url in self._request.urls]
        domain = rule.specifier.removeprefix("domain:").casefold()
        matches = (not domain or fnmatchcase(host, domain) for host in hosts)
        if rule.effect == "allow":
            return all(matches)
        return any(matches) or any(host.endswith(f".{domain}") for host in hosts if domain)

    def _ask_rule_below(self) -> Rule | None:
        """An ask rule about a file below a folder that is searched.

        Files of deny rules need no question: the search leaves them out.
        """
        rules = self._rules.of("ask", "read")
        searched = (path for path in self._files if path.below)
        matches = (covers_restricted(path, rules, self._places) for path in searched)
        return next((rule for rule in matches if rule is not None), None)

    def _mentioned(self) -> Rule | None:
        """A restricting rule about a file that some argument may name."""
        rules = tuple(
            rule
            for effect in RESTRICTING
            for rule in self._rules.of(effect, "read", "edit")
            if rule.specifier
        )
        if not rules or self._request.effects.is_declared:
            return None
        paths = mentioned(self._request, self._places)
        if paths is None:
            return rules[0]
        for rule in rules:
            if any(rule_matches(rule, path, self._places) for path in paths):
                return rule
        return None

    def _is_inside(self) -> bool:
        return bool(self._written) and all(is_inside(path, self._places) for path in self._written)

    def _grants(self) -> tuple[str, ...]:
        request = self._request
        if request.urls:
            hosts = dict.fromkeys(_host(url) for url in request.urls)
            return tuple(f"WebFetch(domain:{host})" for host in hosts if host)
        if request.approval.tier == "write" and self._written:
            if self._is_inside():
                return ("Edit(./**)",)
            return tuple(f"Edit(/{path.real})" for path in self._written)
        # Of a file tool, the name of the tool would be a rule about all files.
        is_file_tool = parse_rule(request.tool, "allow").subject != "tool"
        return () if is_file_tool else (request.tool,)


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

    def denied(self) -> Decision:
        """What the deny rules alone decide; a call that may be meant asks."""
        rules = self._command_rules("deny")
        denied = commands.restricting(self._line, rules)
        by_files = self._by_files("deny")
        if denied.rule is not None and denied.certain:
            return Decision(action="deny", reason=_rule_reason(denied.rule))
        if by_files is not None and by_files.action == "deny":
            return by_files
        doubt = self._doubt(denied) if rules else None
        return doubt or by_files or Decision(action="allow")

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
        of_tool = (rule for rule in self._rules.of(effect, "tool") if matches_tool(rule, "bash"))
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
        if self._mode == "auto-edit" and is_inside(path, self._places):
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
