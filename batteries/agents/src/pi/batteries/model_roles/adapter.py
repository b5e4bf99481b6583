"""Connects roles to a session: names of models, cycling, badges, pictures, commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    Image,
    Message,
    Model,
    ModelNotes,
    ModelSelectEvent,
    Option,
    PiError,
    Policy,
    Request,
    ResolvedModel,
    RoleModel,
    SessionStartEvent,
    UserMessage,
    next_role,
    parse_role,
    replace,
    resolve_role,
)

_COUNTS = "chosen"
"""Key of the stored counts."""
MOST = 5
"""Number of models that are listed first."""
MAX_COUNTED = 50


class ModelUsage:
    """Counts choices of models."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def count(self, model: Model) -> None:
        """Count a choice. Older choices lose weight, so that a new favourite rises to the top."""
        name = f"{model.provider}/{model.id}"
        counts = {model_name: value * 0.95 for model_name, value in self._counts().items()}
        counts[name] = counts.get(name, 0.0) + 1.0
        favourites = sorted(counts, key=counts.__getitem__, reverse=True)[:MAX_COUNTED]
        await self._pi.store("global").set(
            _COUNTS, {favourite: round(counts[favourite], 4) for favourite in favourites}
        )

    def most_used(self) -> tuple[str, ...]:
        """Return ``provider/id`` of the most used models, the most used first."""
        counts = self._counts()
        return tuple(sorted(counts, key=counts.__getitem__, reverse=True)[:MOST])

    def _counts(self) -> dict[str, float]:
        stored = self._pi.store("global").get(_COUNTS, {})
        if not isinstance(stored, dict):
            return {}
        return {str(k): float(v) for k, v in stored.items() if isinstance(v, (int, float))}


class VisionRole(Policy):
    """Sends prompts with pictures to the model of the role, if the current one sees none."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._announced = 0
        """Timestamp of the last prompt for which the user was informed."""

    async def before_request(self, request: Request) -> Request:
        """Use the model of the role for this request only."""
        prompt = last_prompt(request.messages)
        if request.model.sees_images or prompt is None or not _has_image(prompt):
            return request
        candidates = (await self._pi.models.for_role("vision", current=False)).models
        if not candidates:
            return request
        self._announce(candidates[0], prompt)
        level = candidates[0].thinking or request.thinking
        return replace(request, model=candidates[0].model, thinking=level)

    def _announce(self, candidate: RoleModel, prompt: UserMessage) -> None:
        if self._announced != prompt.timestamp:
            self._announced = prompt.timestamp
            name = f"{candidate.model.provider}/{candidate.model.id}"
            self._pi.context.ui.notify(f"{name} looks at the picture (role vision).", "info")


def last_prompt(messages: Sequence[Message]) -> UserMessage | None:
    """Return the last message of the user; ``None`` if there is none."""
    return next(
        (message for message in reversed(messages) if isinstance(message, UserMessage)), None
    )


def _has_image(message: UserMessage) -> bool:
    return not isinstance(message.content, str) and any(
        isinstance(part, Image) for part in message.content
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
        """Show the roles, and let the user choose a model for one."""
        if not ctx.has_ui:
            ctx.write("\n".join(self._lines(ctx)) + "\n")
            return
        role = arguments.strip().removeprefix("@") or await self._choose_role(ctx)
        if not role:
            return
        if role not in self._pi.models.roles.names:
            names = ", ".join(self._pi.models.roles.names)
            ctx.ui.notify(f"Unknown role {role}. Roles: {names}.", "error")
            return
        await self._set(role, ctx)

    async def _choose_role(self, ctx: CommandContext) -> str | None:
        roles = self._pi.models.roles
        options = [
            Option(label=role, description=self._describe_role(role, ctx)) for role in roles.names
        ]
        chosen: str | None = await ctx.ui.select("Model roles", options)
        return chosen

    def _lines(self, ctx: CommandContext) -> list[str]:
        names = self._pi.models.roles.names
        width = max(map(len, names))
        return [f"{role.ljust(width)}  {self._describe_role(role, ctx)}" for role in names]

    def _describe_role(self, role: str, ctx: CommandContext) -> str:
        roles = self._pi.models.roles
        purpose = roles.tags.get(role) or PURPOSES.get(role, "")
        if not roles.patterns(role):
            return " · ".join(filter(None, ("not set", purpose)))
        resolved = resolve_role(role, roles, ctx.model_registry.resolve)
        value = ", ".join(roles.patterns(role))
        if resolved.models:
            model = resolved.models[0]
            level = f":{model.thinking}" if model.thinking else ""
            value = f"{model.model.provider}/{model.model.id}{level}"
        elif resolved.problem:
            value = f"{value} ({resolved.problem})"
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
        return dict(self._pi.settings.get("modelRoles") or {})

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
        """Use another model from now on, without changing settings."""
        pattern = arguments.strip()
        if not pattern:
            await self.pick(ctx)
            return
        resolved = ctx.model_registry.resolve(pattern)
        if resolved is None:
            ctx.ui.notify(f"Model not found: {pattern}. /model lists the models.", "error")
            return
        await self._use(resolved.model, resolved.thinking, ctx)

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


SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("modelRoles", dict[str, Any] | Literal[False], {}, "models by role"),
    ("modelTags", dict[str, str], {}, "what custom roles are for"),
    ("cycleOrder", tuple[str, ...], (), "the roles that the cycle key goes through"),
)
KEY = "alt+s"


def extension(pi: ExtensionAPI) -> None:
    """Register names, commands, the key, and the role for pictures."""
    pi.settings.declare_all(SETTINGS)
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
        """Return the model of ``@role`` or ``pi/role``; ``None`` for other names.

        Also called while pi starts. Models without credentials are skipped.
        """
        reference = parse_role(name)
        if reference is None:
            return None
        find = self._pi.context.model_registry.resolve
        resolved = resolve_role(
            reference.role,
            self._pi.models.roles,
            find,
            current=self._current(),
            thinking=reference.thinking,
        )
        for candidate in resolved.models:
            if self._pi.context.model_registry.has_configured_auth(candidate.model):
                level = f":{candidate.thinking}" if candidate.thinking else ""
                return f"{candidate.model.provider}/{candidate.model.id}{level}"
        return None

    def _current(self) -> ResolvedModel | None:
        try:
            context = self._pi.context
            model = context.model
        except Exception:  # no session yet: --model names a role
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
        assignment = next_role(
            self._pi.models.roles,
            self._role or self._role_of_current(),
            registry.resolve,
            step=step,
            session=self._current(),
        )
        if assignment is None or not registry.has_configured_auth(assignment.model):
            return None
        self._role = assignment.role
        return ResolvedModel(model=assignment.model, thinking=assignment.thinking)

    def _role_of_current(self) -> str:
        model = self._pi.context.model
        roles = self._pi.models.roles
        for role in roles.cycle_order:
            resolved = resolve_role(role, roles, self._pi.context.model_registry.resolve)
            if model is not None and resolved.models and resolved.models[0].model.id == model.id:
                return role
        return "default"

    # Lists of models ------------------------------------------------------------------------------

    def _notes(self) -> ModelNotes:
        roles, find = self._pi.models.roles, self._pi.context.model_registry.resolve
        badges: dict[str, tuple[str, ...]] = {}
        for role in roles.names:
            if not roles.patterns(role):
                continue
            resolved = resolve_role(role, roles, find)
            if resolved.models:
                model = resolved.models[0].model
                name = f"{model.provider}/{model.id}"
                badges[name] = (*badges.get(name, ()), role)
        return ModelNotes(badges=badges, used=self._usage.most_used())
