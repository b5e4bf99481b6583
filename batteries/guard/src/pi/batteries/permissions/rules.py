"""Permission rules in the syntax of Claude Code, such as ``Bash(git status:*)``. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.extension import Record
from pi.extension.guards import mcp_key, tool_matches

Mode: TypeAlias = Literal["off", "ask", "ask-all", "auto-edit", "read-only"]
MODES: tuple[Mode, ...] = ("off", "ask", "ask-all", "auto-edit", "read-only")
Effect: TypeAlias = Literal["deny", "ask", "allow"]
EFFECTS: tuple[Effect, ...] = ("deny", "ask", "allow")
RESTRICTING: tuple[Effect, ...] = ("deny", "ask")
Subject: TypeAlias = Literal["command", "edit", "read", "url", "tool"]

_NO_NAME = r"\s(){}<>\"'`,;\uff08\uff09"
"""No tool has these in its name; a rule with them is a typing error."""
_RULE = re.compile(rf"\s*(?P<tool>[^{_NO_NAME}]+)\s*(?:\((?P<specifier>.*)\))?\s*", re.DOTALL)
_SUBJECTS: dict[str, Subject] = {
    "bash": "command",
    "edit": "edit",
    "write": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "read": "read",
    "grep": "read",
    "glob": "read",
    "find": "read",
    "ls": "read",
    "webfetch": "url",
}
"""Subjects of rules by tool. ``Edit`` and ``Read`` cover all tools that edit or read."""
MCP = "mcp__"
_SHORTENED = re.compile(r".{50,}_[0-9a-f]{8}")
_TOOLS = {"websearch": "web_search", "task": "task", "webfetch": "web_fetch"}


_WITH_SPECIFIERS = frozenset({"agent", "skill", "slashcommand", "task"})
"""Tools of Claude Code whose rules have specifiers, and which need not exist here."""


class BadRule(ValueError):
    """A rule that cannot be parsed."""


class Rule(Record):
    """One rule."""

    effect: Effect
    tool: str
    """The name as written."""
    subject: Subject
    specifier: str = ""
    """The specifier; empty means every call."""
    source: str = ""

    @property
    def text(self) -> str:
        """The rule as it is written."""
        return f"{self.tool}({self.specifier})" if self.specifier else self.tool

    @property
    def name_pattern(self) -> str:
        """The pattern of tool names for a rule with the subject ``tool``."""
        return _TOOLS.get(self.tool.lower(), self.tool)


def matches_tool(rule: Rule, tool: str, collides_with: str = "") -> bool:
    """Whether a rule about a tool by name matches.

    ``collides_with`` is the name of an MCP tool that ``tool`` would have without its number.
    Restrictions apply to it, too: the server decides which of the two gets the number.
    """
    name = rule.name_pattern.casefold()
    if rule.effect != "allow" and tool.startswith(MCP):
        # A server ``a__b`` is ``mcp__a_b__…``.
        written = f"{MCP}{re.sub('__+', '_', name.removeprefix(MCP))}"
        others = (tool, collides_with) if collides_with else (tool,)
        if any(
            tool_matches(text, other.casefold()) for text in (name, written) for other in others
        ):
            return True
        # Long names are shortened, with a hash at the end.
        if _SHORTENED.fullmatch(tool) and mcp_key(name).startswith(mcp_key(tool[:-9])):
            return True
    if rule.effect == "allow" and "*" in name and tool.startswith(MCP):
        # Not in the older form, in which the names of two servers may begin alike.
        return fnmatchcase(mcp_key(tool), mcp_key(name)) and "__" in name.removeprefix(MCP)
    return tool_matches(name, tool.casefold())


class RuleSet(Record):
    """All rules that apply, and the problems of invalid ones."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[str, ...] = ()

    def of(self, effect: Effect, *subjects: Subject) -> tuple[Rule, ...]:
        """The rules with an effect, about some subjects or all."""
        return tuple(
            rule
            for rule in self.rules
            if rule.effect == effect and (not subjects or rule.subject in subjects)
        )


def parse_rule(text: str, effect: Effect, source: str = "") -> Rule:
    """Parse one rule; raises ``BadRule``."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise BadRule(f"{text!r} is not a rule. Write Tool or Tool(specifier).")
    tool, specifier = match["tool"], (match["specifier"] or "").strip()
    subject = _SUBJECTS.get(tool.lower(), "tool")
    if subject in ("edit", "read") and specifier.count("(") != specifier.count(")"):
        raise BadRule(f"{text!r}: the parentheses do not match.")
    if subject == "url" and specifier and not specifier.startswith("domain:"):
        raise BadRule(f"{text!r}: write WebFetch(domain:example.com).")
    if subject == "tool" and specifier and effect == "allow":
        raise BadRule(f"{text!r}: arguments of {tool} cannot be matched. Write {tool}.")
    if effect == "allow" and _names_beginning_of_server(tool):
        raise BadRule(f"{text!r} allows nothing: write the whole server, as in mcp__server__*.")
    everything = subject in ("command", "edit", "read") and specifier in ("*", "**", ":*")
    return Rule(
        effect=effect,
        tool=tool,
        subject=subject,
        specifier="" if everything else specifier,
        source=source,
    )


def _names_beginning_of_server(tool: str) -> bool:
    """Whether a rule is about all MCP servers whose names begin alike, as ``mcp__s*``."""
    server = tool.casefold().removeprefix(MCP)
    return tool.casefold().startswith(MCP) and "*" in server and "__" not in server


def _wider_rule(text: str, effect: Effect, source: str) -> Rule:
    """The rule that stands for one that cannot be parsed: about every call of its tool, or of all.

    A restriction that is not understood must not become a permission.
    """
    match = re.fullmatch(r"\s*([\w*?-]+)\s*\([^,]*", text)
    return parse_rule(match[1] if match else "*", effect, source)


def parse_rules(
    lists: Any, source: str, *, effects: Iterable[Effect] = EFFECTS
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules of ``{"allow": […], "ask": […], "deny": […]}``, and the problems of invalid ones.

    An invalid deny or ask rule applies to every call of its tool.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    if lists is None:
        return (), ()
    if not isinstance(lists, dict):
        message = f"{source}: permissions must be an object with allow, ask and deny."
        return (parse_rule("*", "ask", source),), (f"{message} Every call asks.",)
    for effect in effects:
        written = lists.get(effect) or []
        if not isinstance(written, list):
            problems.append(f"{source}: permissions.{effect} must be a list of rules.")
            written = [] if effect == "allow" else ["*"]
        for text in written:
            try:
                rules.append(parse_rule(str(text), effect, source))
            except BadRule as error:
                problems.append(f"{source}: {error}")
                if effect != "allow":
                    rules.append(_wider_rule(str(text), effect, source))
                    problems[-1] += f" It applies as {rules[-1].text}."
    return tuple(rules), tuple(problems)


def misspelt_tools(rules: Iterable[Rule], tools: Iterable[str]) -> Iterator[str]:
    """Yield the problems of restrictions whose tool is not known, but similar to a known one.

    Rules about tools that are not there now are valid: a server or an extension may add them.
    """
    tool_names = {name.casefold(): name for name in tools} | {
        name: name for name in _SUBJECTS | _TOOLS
    }
    for rule in rules:
        name = rule.tool.casefold()
        is_name = rule.subject == "tool" and not (set("*?[") & set(name) or name.startswith(MCP))
        if rule.effect == "allow" or not is_name or name in tool_names:
            continue
        from difflib import get_close_matches  # lazy: for errors only

        if similar := get_close_matches(name, tool_names, n=1, cutoff=0.7):
            suggestion = tool_names[similar[0]]
            yield f"{rule.source}: no tool is named {rule.tool}. Did you mean {suggestion}?"
        elif rule.specifier and name not in _WITH_SPECIFIERS:
            # Others name the tool differently, as in ``Shell(rm:*)``.
            yield (
                f"{rule.source}: no tool is named {rule.tool}, so that {rule.text} has no effect. "
                "Write Bash(…) for commands, Read(…) and Edit(…) for files."
            )


class ClaudeSettings(Record):
    """``permissions`` of a settings file of Claude Code."""

    path: str
    permissions: Any = None
    problem: str = ""
    """Why the file cannot be read."""


def parse_claude_settings(text: str, path: Path) -> ClaudeSettings:
    """Parse ``.claude/settings.json``. If it cannot be read, a rule asks about every call."""
    try:
        document = json.loads(text)
    except ValueError as error:
        message = f"{path} is not valid JSON: {error}. Every call asks."
        return ClaudeSettings(path=str(path), permissions={"ask": ["*"]}, problem=message)
    permissions = document.get("permissions") if isinstance(document, dict) else None
    return ClaudeSettings(path=str(path), permissions=permissions)
