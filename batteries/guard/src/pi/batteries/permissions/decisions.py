"""Decides about a tool call: deny wins over ask, ask over allow; else the mode decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote, urlsplit

from pi.batteries.permissions.command_decisions import CommandDecision
from pi.batteries.permissions.paths import (
    BaseFolders,
    TouchedPath,
    is_inside,
    is_plan,
    is_protected,
    touched,
    touched_by,
)
from pi.batteries.permissions.patterns import covers_restricted, rule_matches
from pi.batteries.permissions.requests import URL, Decision, ToolRequest, rule_reason, texts_of
from pi.batteries.permissions.rules import (
    RESTRICTING,
    Effect,
    Mode,
    Rule,
    RuleSet,
    matches_tool,
    parse_rule,
)
from pi.extension import (
    replace,
)

_PATH_NAME = re.compile(r".*(?:path|file)s?|filename|target|uri")
"""Names of arguments with files, without ``_`` and ``-``, for tools that declare no effects.

Files of a call that stay in the project may be allowed, so that these names must mean files; other
arguments are compared with rules that restrict.
"""
OUTSIDE = "This is outside of the project."
MAX_TEXTS, MAX_TEXT = 500, 4096
"""Maximum of arguments, and of their characters, that are compared with rules about files."""


def files_of(request: ToolRequest, base_folders: BaseFolders) -> tuple[TouchedPath, ...]:
    """The files of a call: those that its tool declares, else those that its arguments name."""
    in_urls = filter(None, map(_file_url, request.effects.urls))
    declared = (
        *map(touched_by, request.effects.files),
        *(touched(url, base_folders.cwd, base_folders) for url in in_urls),
    )
    if request.effects.is_declared:
        return declared
    writes = request.approval.tier != "read"
    named = (replace(path, writes=writes) for path in _named_paths(request.input, base_folders))
    return (*declared, *named)


def _file_url(url: str) -> str:
    """The ``file://`` address in an address such as ``mcp://server/file:///x``; else empty."""
    plain = unquote(url)
    start = plain.casefold().find("file://")
    return plain[start:] if start >= 0 else ""


def _named_paths(arguments: Any, base_folders: BaseFolders) -> Iterable[TouchedPath]:
    """The files in arguments whose names stand for files."""

    def collect(value: Any, name: str) -> Iterable[str]:
        if isinstance(value, dict):
            for key, member in value.items():
                yield from collect(member, str(key).casefold().replace("_", "").replace("-", ""))
        elif isinstance(value, list | tuple):
            for member in value:
                yield from collect(member, name)
        elif isinstance(value, str) and _PATH_NAME.fullmatch(name) and not URL.match(value):
            yield value

    for text in dict.fromkeys(collect(arguments, "")):
        yield from _readings(text, base_folders)


def mentioned(request: ToolRequest, base_folders: BaseFolders) -> tuple[TouchedPath, ...] | None:
    """The files that any text of the arguments may name; ``None`` if there are too many texts.

    Only for tools that declare no effects, such as those of MCP servers.
    """
    if request.effects.is_declared:
        return ()
    texts = [*dict.fromkeys(text.strip() for text in texts_of(request.input))]
    if len(texts) > MAX_TEXTS:
        return None
    short = (text for text in texts if len(text) <= MAX_TEXT and "\n" not in text)
    return tuple(path for text in short for path in _readings(text, base_folders))


def _readings(text: str, base_folders: BaseFolders) -> Iterable[TouchedPath]:
    """The files that a text may stand for: as it is, and with ``%2e`` and the like decoded."""
    if "\0" in text:
        return
    # Users mention files with ``@``; the tools remove it.
    before, _, behind = text.partition(":")
    file = behind if before.casefold() == "file" else before  # ``file:/x`` and ``x:10``
    for plain in dict.fromkeys((text.removeprefix("@"), unquote(text), unquote(file))):
        yield touched(plain, base_folders.session_cwd or base_folders.cwd, base_folders)


def decide(request: ToolRequest, rules: RuleSet, mode: Mode, base_folders: BaseFolders) -> Decision:
    """The decision about one call; in the mode ``off`` only deny rules count."""
    if mode == "off":
        rules = replace(rules, rules=rules.of("deny"))
        if not rules.rules:
            return Decision(action="allow")
    if request.effects.cwd != base_folders.cwd:  # a nested session in a copy of the project
        base_folders = replace(base_folders, session_cwd=request.effects.cwd)
    asking_mode: Mode = "ask" if mode == "ask-all" else mode
    call = (_Tool if request.command is None else CommandDecision)(
        request, rules, asking_mode, base_folders
    )
    decision = call.denied() if mode == "off" else call.decide()
    if mode == "ask-all" and decision.action != "deny":
        # No grants: an answer is about one call.
        return Decision(action="ask", reason=decision.reason or request.approval.reason)
    return decision


class _Tool:
    """A call of any tool but ``bash``."""

    def __init__(
        self, request: ToolRequest, rules: RuleSet, mode: Mode, base_folders: BaseFolders
    ) -> None:
        self._request = request
        self._rules = rules
        self._mode = mode
        self._base_folders = base_folders
        self._files = files_of(request, self._base_folders)
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
        edits = tier == "write" and self._mode == "auto-edit" and self._is_ordinary()
        if is_allowed or edits:
            return Decision(action="allow")
        reason = request.approval.reason or self._outside()
        return Decision(action="ask", reason=reason, grants=self._grants())

    def _outside(self) -> str:
        """Why ``auto-edit`` asks about an edit; empty for other calls and modes."""
        is_edit = self._request.approval.tier == "write" and self._written
        return OUTSIDE if is_edit and self._mode == "auto-edit" else ""

    def denied(self) -> Decision:
        """What the deny rules alone decide."""
        rule = self._matching("deny")
        if rule is not None:
            return Decision(action="deny", reason=rule_reason(rule))
        rule = self._mentioned() if self._mode == "off" else None
        if rule is not None:
            return Decision(action="ask", reason=rule_reason(rule, certain=False))
        return Decision(action="allow")

    def _must_ask(self) -> str:
        """Why the user must be asked even if a rule allows the call; empty if not."""
        scripts = self._mode == "ask"
        for path in self._written:
            if is_protected(path, self._base_folders, with_scripts=scripts):
                return f"{path.written} decides what runs later. It is always asked about."
        if self._request.approval.must_ask:
            return self._request.approval.reason or f"{self._request.tool} always asks."
        rule = self._matching("ask") or self._ask_rule_below()
        if rule is not None:
            return rule_reason(rule)
        rule = self._mentioned()
        return "" if rule is None else rule_reason(rule, certain=False)

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
                other = request.collides_with
                return any(matches_tool(rule, name, other) for name in self._tool_names(rule))
            case _:
                return False

    def _tool_names(self, rule: Rule) -> Iterable[str]:
        """The tool, and for rules that restrict the MCP servers whose resources it reads."""
        yield self._request.tool
        for url in self._request.effects.urls if rule.effect != "allow" else ():
            if url.casefold().startswith("mcp://"):
                yield f"mcp__{url[6:].partition('/')[0]}__read_resource"

    def _by_path(self, rule: Rule, paths: Sequence[TouchedPath]) -> bool:
        if not paths:
            # References that are no files, such as ``ssh://host/x``: only restricted as a whole.
            if rule.effect == "allow" or rule.specifier or not self._request.effects.urls:
                return False
            return rule.subject == "read" or self._request.approval.tier != "read"
        matches = (rule_matches(rule, path, self._base_folders) for path in paths)
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
        matches = (covers_restricted(path, rules, self._base_folders) for path in searched)
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
        paths = mentioned(self._request, self._base_folders)
        if paths is None:
            return rules[0]
        for rule in rules:
            if any(rule_matches(rule, path, self._base_folders) for path in paths):
                return rule
        return None

    def _is_ordinary(self) -> bool:
        return bool(self._written) and all(
            is_inside(path, self._base_folders) or is_plan(path, self._base_folders)
            for path in self._written
        )

    def _is_inside(self) -> bool:
        return bool(self._written) and all(
            is_inside(path, self._base_folders) for path in self._written
        )

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


def _host(url: str) -> str:
    try:
        return (urlsplit(url.strip()).hostname or "").casefold()
    except ValueError:
        return ""
