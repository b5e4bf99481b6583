"""``/roles`` and ``/switch``: choose the model of a role, or another model for now."""

from __future__ import annotations

from typing import Any

from pi.extension import (
    CommandContext,
    ExtensionAPI,
    Model,
    Option,
    PiError,
    resolve_role,
)

INHERIT = "inherit"
LEVELS: dict[str, str] = {
    INHERIT: "the level of the session",
    "off": "answers at once",
    "minimal": "a moment",
    "low": "a little",
    "medium": "for everyday work",
    "high": "for hard problems",
    "xhigh": "for very hard problems",
    "max": "as long as it takes",
}
CHOOSE, REMOVE = "Choose a model", "Remove the model"
PURPOSES: dict[str, str] = {
    "default": "the model of new sessions",
    "smol": "small and fast, for background work",
    "slow": "thorough, for hard problems",
    "vision": "looks at pictures that the model cannot see",
    "plan": "plan mode",
    "commit": "commit messages",
    "tiny": "titles and other one-line answers",
    "task": "sub-agents",
    "advisor": "reviews the work",
}


class RoleCommands:
    """The commands of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    # ``/roles`` -----------------------------------------------------------------------------------

    async def roles(self, arguments: str, ctx: CommandContext) -> None:
        """Show the roles; a role that the user selects gets another model."""
        if not ctx.has_ui:
            ctx.write("\n".join(self._lines(ctx)) + "\n")
            return
        role = arguments.strip().removeprefix("@") or await self._choose_role(ctx)
        if not role:
            return
        if role not in self._pi.models.roles.names:
            known = ", ".join(self._pi.models.roles.names)
            ctx.ui.notify(f"Unknown role {role}. Roles: {known}.", "error")
            return
        await self._set(role, ctx)

    async def _choose_role(self, ctx: CommandContext) -> str | None:
        roles = self._pi.models.roles
        options = [Option(label=role, description=self._shown(role, ctx)) for role in roles.names]
        chosen: str | None = await ctx.ui.select("Model roles", options)
        return chosen

    def _lines(self, ctx: CommandContext) -> list[str]:
        names = self._pi.models.roles.names
        width = max(map(len, names))
        return [f"{role.ljust(width)}  {self._shown(role, ctx)}" for role in names]

    def _shown(self, role: str, ctx: CommandContext) -> str:
        roles = self._pi.models.roles
        purpose = roles.tags.get(role) or PURPOSES.get(role, "")
        if not roles.patterns(role):
            return " · ".join(filter(None, ("not set", purpose)))
        found = resolve_role(role, roles, ctx.model_registry.resolve)
        value = ", ".join(roles.patterns(role))
        if found.models:
            model = found.models[0]
            level = f":{model.thinking}" if model.thinking else ""
            value = f"{model.model.provider}/{model.model.id}{level}"
        elif found.problem:
            value = f"{value} ({found.problem})"
        else:
            value = f"{value} (no such model)"
        source = " (this run only)" if role in roles.overrides else ""
        return " · ".join(filter(None, (value + source, purpose)))

    async def _set(self, role: str, ctx: CommandContext) -> None:
        if self._stored().get(role):
            action = await ctx.ui.select(f"Role {role}", [CHOOSE, REMOVE])
            if action == REMOVE:
                self._store(role, None, ctx)
            if action != CHOOSE:
                return
        model = await ctx.ui.select_model(f"Model for the role {role}")
        if model is None:
            return
        level = await self._choose_level(model, role, ctx)
        if level is None:
            return
        name = f"{model.provider}/{model.id}"
        value = name if level == INHERIT else f"{name}:{level}"
        self._store(role, value, ctx)

    async def _choose_level(self, model: Model, role: str, ctx: CommandContext) -> str | None:
        if not model.reasoning:
            return INHERIT
        options = [Option(label=level, description=text) for level, text in LEVELS.items()]
        level: str | None = await ctx.ui.select(f"Thinking level for the role {role}", options)
        return level

    def _stored(self) -> dict[str, Any]:
        return dict(self._pi.settings.get("modelRoles"))

    def _store(self, role: str, value: str | None, ctx: CommandContext) -> None:
        stored = self._stored()
        stored.pop(role, None)
        if value is not None:
            stored[role] = value
        try:
            self._pi.settings.set("modelRoles", stored)
        except PiError as error:
            ctx.ui.notify(f"The role was not saved: {error.message}", "error")
            return
        ctx.ui.notify(f"{role}: {value or 'no model'}", "info")

    # ``/switch`` ----------------------------------------------------------------------------------

    async def switch(self, arguments: str, ctx: CommandContext) -> None:
        """Use another model from now on; settings do not change."""
        pattern = arguments.strip()
        if not pattern:
            await self.pick(ctx)
            return
        found = ctx.model_registry.resolve(pattern)
        if found is None:
            ctx.ui.notify(f"Model not found: {pattern}. /model lists the models.", "error")
            return
        await self._use(found.model, found.thinking, ctx)

    async def pick(self, ctx: CommandContext) -> None:
        """Let the user choose the model."""
        model = await ctx.ui.select_model("Use a model from now on (not saved)")
        if model is not None:
            await self._use(model, None, ctx)

    async def _use(self, model: Model, thinking: Any, ctx: CommandContext) -> None:
        name = f"{model.provider}/{model.id}"
        if not await self._pi.models.use(model, thinking):
            ctx.ui.notify(f"There are no credentials for {name}: /login {model.provider}", "error")
            return
        ctx.ui.notify(f"{name} from now on; settings are unchanged.", "info")
