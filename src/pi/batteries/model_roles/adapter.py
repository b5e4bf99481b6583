"""Connects roles to a session: names of models, cycling, badges, commands."""

from __future__ import annotations

from typing import Any

from pi.batteries.model_roles.choosing import RoleCommands
from pi.batteries.model_roles.usage import ModelUsage
from pi.batteries.model_roles.vision import VisionRole
from pi.extension import (
    ExtensionAPI,
    ExtensionContext,
    ModelNotes,
    ModelSelectEvent,
    ResolvedModel,
    SessionStartEvent,
    next_role,
    parse_role,
    resolve_role,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("modelRoles", dict[str, Any], {}, "models by role"),
    ("modelTags", dict[str, str], {}, "what custom roles are for"),
    ("cycleOrder", tuple[str, ...], (), "the roles that the cycle key goes through"),
)
KEY = "alt+s"


def extension(pi: ExtensionAPI) -> None:
    """Register names, commands, the key, and the role for pictures."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    pi.register_flag("smol", type="string", description="the model for the role smol")
    pi.register_flag("slow", type="string", description="the model for the role slow")
    roles = SessionRoles(pi)
    commands = RoleCommands(pi)
    pi.models.add_resolver(roles.resolve)
    pi.on("session_start", roles.session_start)
    pi.on("model_select", roles.model_select)
    pi.add_policy(VisionRole(pi))
    pi.register_command(
        "roles", commands.roles, description="show roles, and choose a model for each"
    )
    pi.register_command(
        "switch",
        commands.switch,
        description="use another model, without saving it",
        needs_run_here=True,
    )
    pi.register_shortcut(KEY, commands.pick, description="use another model, without saving it")


class SessionRoles:
    """The roles of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._role = ""
        """The role that the user cycled to."""
        self._usage = ModelUsage(pi)

    def resolve(self, name: str) -> str | None:
        """Return the model that ``@role`` or ``pi/role`` names; also while pi starts."""
        reference = parse_role(name)
        if reference is None:
            return None
        find = self._pi.context.model_registry.resolve
        found = resolve_role(
            reference.role,
            self._pi.models.roles,
            find,
            current=self._current(),
            thinking=reference.thinking,
        )
        for each in found.models:
            if self._pi.context.model_registry.has_configured_auth(each.model):
                level = f":{each.thinking}" if each.thinking else ""
                return f"{each.model.provider}/{each.model.id}{level}"
        return None

    def _current(self) -> ResolvedModel | None:
        try:
            context = self._pi.context
            model = context.model
        except Exception:  # the session does not exist yet: --model names a role
            return None
        if model is None:
            return None
        return ResolvedModel(model=model, thinking=context.thinking_level)

    def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Show roles in the lists of models, and cycle through them if an order is set."""
        self._pi.models.add_notes(self._notes)
        if self._pi.models.roles.cycle_order:
            self._pi.models.set_cycle(self._cycle)

    async def model_select(self, event: ModelSelectEvent, ctx: ExtensionContext) -> None:
        """Count how often a model is chosen."""
        await self._usage.count(event.model)

    # Cycling --------------------------------------------------------------------------------------

    def _cycle(self, step: int) -> ResolvedModel | None:
        """Return the model of the next role, with the level of that role."""
        registry = self._pi.context.model_registry
        found = next_role(
            self._pi.models.roles,
            self._role or self._role_of_current(),
            registry.resolve,
            step=step,
            session=self._current(),
        )
        if found is None or not registry.has_configured_auth(found.model):
            return None
        self._role = found.role
        return ResolvedModel(model=found.model, thinking=found.thinking)

    def _role_of_current(self) -> str:
        model = self._pi.context.model
        roles = self._pi.models.roles
        for role in roles.cycle_order:
            found = resolve_role(role, roles, self._pi.context.model_registry.resolve)
            if model is not None and found.models and found.models[0].model.id == model.id:
                return role
        return "default"

    # Lists of models ------------------------------------------------------------------------------

    def _notes(self) -> ModelNotes:
        roles, find = self._pi.models.roles, self._pi.context.model_registry.resolve
        badges: dict[str, tuple[str, ...]] = {}
        for role in roles.names:
            if not roles.patterns(role):
                continue
            found = resolve_role(role, roles, find)
            if found.models:
                model = found.models[0].model
                name = f"{model.provider}/{model.id}"
                badges[name] = (*badges.get(name, ()), role)
        return ModelNotes(badges=badges, used=self._usage.most_used())
