"""Chooses model, tools and system prompt of an agent, and has the catalog of agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pi.batteries.subagents.definitions import (
    EVERY,
    KIND,
    AgentDefinition,
    bundled_agents,
    find_agents,
    parse_agent,
)
from pi.batteries.subagents.nodes import AgentNode
from pi.batteries.subagents.requests import TaskItem
from pi.coding.models.roles import RoleSettings, role_overrides
from pi.extension import (
    ExtensionAPI,
    Model,
    Record,
    ThinkingLevel,
    parse_role,
    replace,
    resolve_role,
)

TASK, HUB = "task", "hub"
PER_AGENT_TOOLS = (TASK, HUB, "yield")
"""Tools that are made for each agent, and never inherited from its caller."""
NO_LIMIT = 16
"""Depth limit if ``task.maxRecursionDepth`` is negative."""
BLOCKED = "PI_BLOCKED_AGENT"

ABOUT = """\
# You are a sub-agent

Your name is {id}. Another agent has given you one task and waits for its result. What you write on
the way is not read, and questions are not answered: decide what is open yourself, and mention it in
the result.

When you are done, call the tool `yield` once, with `data` (the result) or `error` (why there is
none). That ends your
work. Everything that the caller needs must be in it."""
ISOLATED = """\
You work in a copy of the project, in {cwd}. Other agents do not see your changes. They are merged
when you return a
result, so leave only changes that belong to your task. Do not switch branches."""


class ChosenModel(Record):
    """The model of an agent; ``None`` for that of the session. ``note`` is for the result."""

    model: Model | None = None
    thinking: ThinkingLevel | None = None
    note: str = ""


class AgentCatalog:
    """The available agents; read once, so that the prompt stays the same."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._found: dict[str, AgentDefinition] | None = None
        pi.context.resources.add_kind(KIND, parse_agent, lambda definition: definition.name)
        pi.context.resources.add_source(KIND, find_agents)

    def read(self) -> dict[str, AgentDefinition]:
        """All agents by name; those of the project before those of the user, then pi's own."""
        if self._found is None:
            items = [item for item in self._pi.context.resources.load(KIND) if not item.shadowed]
            definitions = {item.key: replace(item.value, source=item.scope) for item in items}
            for definition in bundled_agents():
                definitions.setdefault(definition.name, definition)
            self._found = definitions
        return self._found

    def usable(self, caller: AgentDefinition | None = None) -> dict[str, AgentDefinition]:
        """The agents that a caller may give tasks to."""
        off = {*self._pi.settings.get("task.disabledAgents")}
        off.update(_words(self._pi.context.environ.get(BLOCKED, "")))
        allowed = None if caller is None or EVERY in caller.spawns else {*caller.spawns}
        return {
            name: definition
            for name, definition in self.read().items()
            if name not in off and (allowed is None or name in allowed)
        }


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def max_depth(pi: ExtensionAPI) -> int:
    """The maximal depth of nested tasks."""
    limit = int(pi.settings.get("task.maxRecursionDepth"))
    return NO_LIMIT if limit < 0 else limit


def tools_of(definition: AgentDefinition, available: Sequence[str]) -> tuple[str, ...]:
    """The tools of an agent: those of its definition that its caller has, too."""
    names = available if definition.tools is None else definition.tools
    refused = {*definition.without, *PER_AGENT_TOOLS}
    return tuple(name for name in names if name in available and name not in refused)


def may_spawn(
    definition: AgentDefinition, node: AgentNode, available: Sequence[str], limit: int
) -> bool:
    """Whether an agent gets the tool ``task``."""
    allowed = definition.tools is None or TASK in definition.tools or bool(definition.spawns)
    refused = TASK in definition.without or not definition.spawns
    return allowed and not refused and TASK in available and node.depth < limit


def choose_model(
    pi: ExtensionAPI, definition: AgentDefinition, item: TaskItem, caller: AgentNode | None
) -> ChosenModel:
    """The first model with credentials: of the setting or definition, the role, or the caller."""
    overrides: Mapping[str, Any] = pi.settings.get("task.agentModelOverrides")
    named = overrides.get(definition.name)
    patterns = [*_words(named)] if isinstance(named, str) and named else list(definition.models)
    ctx = pi.context
    level = item.effort or definition.thinking
    inherited = None if caller is None else ctx.model_registry.resolve(caller.model)
    for pattern in [*patterns, "@task"]:
        chosen = _resolved(pi, pattern)
        if chosen is not None:
            return replace(chosen, thinking=level or chosen.thinking)
    model = inherited.model if inherited is not None else ctx.model
    # An unset role is no problem: it means the model of the caller.
    missing = [pattern for pattern in patterns if parse_role(pattern) is None]
    note = f"No model for {', '.join(missing)}: it uses that of its caller." if missing else ""
    return ChosenModel(model=model, thinking=level, note=note)


def _resolved(pi: ExtensionAPI, pattern: str) -> ChosenModel | None:
    """The model of a pattern or role; ``None`` without one, or without its credentials."""
    ctx, reference = pi.context, parse_role(pattern)
    find, is_usable = ctx.model_registry.resolve, ctx.model_registry.has_configured_auth
    if reference is None:
        named = find(pattern)
        if named is None or not is_usable(named.model):
            return None
        return ChosenModel(model=named.model, thinking=named.thinking)
    configured = pi.settings.get("modelRoles") or {}
    roles = {name: value for name, value in configured.items() if value}
    settings = RoleSettings(roles=roles, overrides=role_overrides({}, ctx.environ))
    if reference.role not in {*roles, *settings.overrides}:
        return None
    resolved = resolve_role(reference.role, settings, find, thinking=reference.thinking)
    usable = (candidate for candidate in resolved.models if is_usable(candidate.model))
    chosen = next(usable, None)
    if chosen is None:
        return None
    return ChosenModel(model=chosen.model, thinking=chosen.thinking)


def system_text(
    pi: ExtensionAPI, definition: AgentDefinition, node: AgentNode, copy: Path | None
) -> str:
    """The text that is added to the system prompt of an agent."""
    parts = [ABOUT.format(id=node.id)]
    if copy is not None:
        parts.append(ISOLATED.format(cwd=copy))
    parts.append(definition.prompt)
    skills = {skill.key: skill.value for skill in pi.context.resources.load("skills")}
    for name in definition.skills:
        if name in skills:
            parts.append(f"# Skill {name}\n\n{skills[name].content}")
        else:
            node.notes.append(f"The skill {name} was not found.")
    return "\n\n".join(part for part in parts if part)
