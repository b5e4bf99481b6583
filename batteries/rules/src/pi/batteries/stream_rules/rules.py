"""Stream rules, made of rule files: conditions, scope, interrupt mode and repeat policy. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pi.batteries.stream_rules.patterns import BadCondition, Condition, compile_condition
from pi.extension import Record, Rule, path_matches

Source: TypeAlias = Literal["text", "thinking", "tool"]
InterruptMode: TypeAlias = Literal["always", "prose-only", "tool-only", "never"]
RepeatMode: TypeAlias = Literal["once", "after-gap"]
ContextMode: TypeAlias = Literal["discard", "keep"]

_TOOL = re.compile(r"(?:tool:)?(?P<name>[\w*-]+)(?:\((?P<globs>.+)\))?")
_PROSE = {"text": ("text",), "thinking": ("thinking",), "prose": ("text", "thinking")}
_ANY_TOOL = ("tool", "tools", "tool:*")


class StreamSettings(Record):
    """The settings ``ttsr.*``."""

    context_mode: ContextMode = "discard"
    interrupt_mode: InterruptMode = "always"
    repeat_mode: RepeatMode = "once"
    repeat_gap: int = 10
    builtin_rules: bool = True
    disabled_rules: tuple[str, ...] = ()


class ToolScope(Record):
    """Calls of one tool, or of all if ``name`` is empty; with globs only for matching files."""

    name: str = ""
    globs: tuple[str, ...] = ()


class RuleScope(Record):
    """The parts of an answer that a rule is matched with."""

    text: bool = True
    thinking: bool = True
    tools: tuple[ToolScope, ...] = (ToolScope(),)

    def of_tool(self, name: str) -> tuple[ToolScope, ...]:
        """The parts of the scope that apply to calls of a tool."""
        return tuple(scope for scope in self.tools if scope.name in ("", name))


class StreamRule(Record):
    """A rule that is matched with answers."""

    rule: Rule
    conditions: tuple[Condition, ...] = ()
    ast: tuple[str, ...] = ()
    scope: RuleScope = RuleScope()
    interrupt_mode: InterruptMode = "always"
    repeat_mode: RepeatMode = "once"
    repeat_gap: int = 10
    source: str = ""
    """The agent or set that the rule comes from, for ``/rules``."""

    @property
    def name(self) -> str:
        """The name of the rule, which identifies it."""
        return self.rule.name

    def interrupts(self, source: Source) -> bool:
        """Whether a match in that part of an answer interrupts it."""
        match self.interrupt_mode:
            case "always":
                return True
            case "never":
                return False
            case "tool-only":
                return source == "tool"
            case "prose-only":
                return source != "tool"

    def concerns(self, tool: str, path: str, cwd: Path) -> bool:
        """Whether a call of ``tool`` that names ``path`` is in the scope of the rule."""
        if self.rule.globs and not (path and path_matches(self.rule.globs, path, cwd)):
            return False
        return any(
            not scope.globs or (path and path_matches(scope.globs, path, cwd))
            for scope in self.scope.of_tool(tool)
        )

    def in_prose(self, source: Source) -> bool:
        """Whether it is matched with text or thinking; a rule with globs is not."""
        in_scope = self.scope.text if source == "text" else self.scope.thinking
        return in_scope and not self.rule.globs


class Registered(Record):
    """The stream rules of a session, and warnings about invalid ones."""

    rules: tuple[StreamRule, ...] = ()
    warnings: tuple[str, ...] = ()


def register(
    rules: Iterable[tuple[Rule, str]],
    settings: StreamSettings,
    tools: Collection[str],
    re2: Any,
) -> Registered:
    """Make stream rules of the rules that have a condition; the first of each name is used.

    ``rules`` has every rule with its source. ``tools`` are the names that a scope may use without
    ``tool:``.
    """
    registered: dict[str, StreamRule] = {}
    warnings: list[str] = []
    for rule, source in rules:
        used = rule.enabled and rule.name not in settings.disabled_rules
        if not used or rule.name in registered or not (rule.conditions or rule.ast_conditions):
            continue
        stream_rule, problems = _stream_rule(rule, source, settings, tools, re2)
        warnings += (f"Rule {rule.name} ({rule.path}): {problem_text}" for problem_text in problems)
        if stream_rule is not None:
            registered[rule.name] = stream_rule
    return Registered(rules=tuple(registered.values()), warnings=tuple(warnings))


def _stream_rule(
    rule: Rule, source: str, settings: StreamSettings, tools: Collection[str], re2: Any
) -> tuple[StreamRule | None, list[str]]:
    problems: list[str] = []
    conditions = []
    for pattern in rule.conditions:
        try:
            conditions.append(compile_condition(pattern, re2))
        except BadCondition as error:
            problems.append(f"{error.message}; it is ignored.")
    scope = _scope(rule.scopes, tools, problems)
    stream_rule = StreamRule(
        rule=rule,
        conditions=tuple(conditions),
        ast=rule.ast_conditions,
        scope=scope,
        interrupt_mode=_choice(
            rule, "interruptMode", InterruptMode, settings.interrupt_mode, problems
        ),
        repeat_mode=_choice(rule, "repeatMode", RepeatMode, settings.repeat_mode, problems),
        repeat_gap=_gap(rule, settings.repeat_gap, problems),
        source=source,
    )
    if not conditions and not stream_rule.ast:
        return None, problems
    in_prose = conditions and (stream_rule.in_prose("text") or stream_rule.in_prose("thinking"))
    if not in_prose and not scope.tools:
        return None, [*problems, "its scope excludes everything; the rule is not used."]
    return stream_rule, problems


def _scope(tokens: tuple[str, ...], tools: Collection[str], problems: list[str]) -> RuleScope:
    """Parse ``scope``. Unknown words are reported and ignored."""
    if not tokens:
        return RuleScope()
    prose: set[str] = set()
    chosen: list[ToolScope] = []
    for word in tokens:
        parsed = _TOOL.fullmatch(word)
        if word in _PROSE:
            prose.update(_PROSE[word])
        elif word in _ANY_TOOL:
            chosen.append(ToolScope())
        elif parsed and (word.startswith("tool:") or parsed["name"] in tools):
            globs = tuple(part.strip() for part in (parsed["globs"] or "").split("|"))
            name = "" if parsed["name"] == "*" else parsed["name"]
            chosen.append(ToolScope(name=name, globs=tuple(filter(None, globs))))
        else:
            problems.append(f"unknown scope {word!r}; use text, thinking, tool or tool:NAME(GLOB).")
    return RuleScope(text="text" in prose, thinking="thinking" in prose, tools=tuple(chosen))


def _choice(rule: Rule, name: str, kind: Any, default: Any, problems: list[str]) -> Any:
    value = rule.meta.get(name, default)
    if value in get_args(kind):
        return value
    problems.append(f"{name} must be one of {', '.join(get_args(kind))}; {default} is used.")
    return default


def _gap(rule: Rule, default: int, problems: list[str]) -> int:
    value = rule.meta.get("repeatGap", default)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    problems.append(f"repeatGap must be a number of turns; {default} is used.")
    return default
