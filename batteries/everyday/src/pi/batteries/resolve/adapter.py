"""The ``resolve`` tool for pending actions, and the policy that makes the model use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pi.extension import (
    UNSET,
    BeforeAgentStartEvent,
    CallEffects,
    CommandContext,
    Custom,
    Entry,
    ExtensionAPI,
    ExtensionContext,
    Json,
    Meta,
    PendingAction,
    PendingActions,
    Policy,
    Record,
    Request,
    SessionStartEvent,
    SessionTreeEvent,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    ToolTier,
    UserMessage,
    make_tool,
    replace,
)

NAME = "resolve"
SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("resolve.toolChoice", str, "auto", "how a model is made to resolve"),
)
ENTRY = "pending_actions"
"""Custom type of the entries that list the pending actions after every change."""
DESCRIPTION = """\
Apply or discard the change that a tool has previewed last.
- action "apply": make the change
- action "discard": drop it; nothing is changed
Call it after every preview, before anything else. If several previews are pending, the newest is \
resolved first."""
REMINDER = """\
<system-reminder>
This is an automatic reminder of the resolve tool, not a message of the user.
A previewed change is pending: {label}. Call resolve with "apply" or "discard" before anything else.
</system-reminder>"""
LATER_REMINDER = """\
<system-reminder>
This is an automatic reminder of the resolve tool, not a message of the user.
A change that was previewed before this prompt is pending: {label}. If the message of the user is \
about it, call resolve with "apply" or "discard"; otherwise leave it.
</system-reminder>"""
NONE_PENDING = "No previewed change is pending."
USAGE = "Usage: /resolve [apply|discard]"
LOST = (
    "Pending actions do not survive a reload, a resumed session or a move to another branch, so "
    "this preview is gone: {labels}. Nothing was changed. Run the tool again for a new preview."
)


ACTIONS: tuple[Literal["apply"], Literal["discard"]] = ("apply", "discard")


class ResolveParams(Record):
    """Arguments of a call."""

    action: Annotated[
        Literal["apply", "discard"], Meta(description="Make the previewed change, or drop it")
    ]
    reason: Annotated[str, Meta(description="Why, in one sentence")]


def extension(pi: ExtensionAPI) -> None:
    """Register the tool and the policy."""
    pi.settings.declare_all(SETTINGS)
    resolver = Resolver(pi)
    pi.scope.on_close(pi.pending_actions.add_resolver())
    pi.scope.on_close(pi.pending_actions.on_change(resolver.changed))
    policy = ResolveFirst(pi.pending_actions, lambda: pi.settings.get("resolve.toolChoice"))
    pi.on("before_agent_start", policy.before_agent_start)
    pi.add_policy(policy)
    pi.register_command(
        NAME,
        resolver.command,
        description="apply or discard the change that was previewed last: /resolve discard",
        completions=lambda begin: [word for word in ACTIONS if word.startswith(begin)],
    )
    pi.add_view("tool", NAME, "pi.batteries.resolve.views:resolve")
    pi.on("session_start", resolver.session_start)
    pi.on("session_tree", resolver.session_tree)
    tool = make_tool(
        name=NAME,
        label=NAME,
        description=DESCRIPTION,
        params=ResolveParams,
        run=resolver.run,
        execution_mode="sequential",  # after the previews of the same answer
        effects=resolver.effects,
        approval=tier,
        format_approval_details=resolver.approval_details,
    )
    # Declared with every request while a tool that previews is active: a tool that comes and goes
    # with the previews would break the prompt cache each time.
    pi.add_tool(tool, exposure="resolver")


def tier(arguments: Json) -> ToolTier:
    """The permission tier of a call: discarding a preview changes nothing."""
    return "read" if arguments.get("action") == "discard" else "write"


class Resolver:
    """Resolves the pending actions of one session, and records which are pending."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._actions: PendingActions = pi.pending_actions
        self._recorded: tuple[str, ...] = ()
        """The labels in the last entry of the branch."""
        self._lost: tuple[str, ...] = ()
        """The labels of actions that were lost by a reload, a resume or a change of branch."""

    async def run(self, params: ResolveParams, ctx: ToolContext) -> ToolResult:
        """Resolve the newest action. It is removed before, so that a failed one is not retried.

        Raises ``ToolFailed`` if no action is pending, with an explanation if actions were lost.
        """
        pending = self._actions.peek()
        try:
            result = await self._actions.resolve(params.action, params.reason)
        except ToolFailed as error:
            if pending is not None or not self._lost:
                raise
            labels, self._lost = ", ".join(self._lost), ()
            raise ToolFailed(f"{error.message} {LOST.format(labels=labels)}") from error
        finally:
            self._record()
        return replace(result, details=self._details(params, pending, result))

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/resolve``: the user decides about the newest action, or is asked."""
        pending = self._actions.peek()
        if pending is None:
            ctx.ui.notify(NONE_PENDING)
            return
        action: str | None = arguments.strip().lower()
        if not action:
            action = await ctx.ui.select(pending.label, ACTIONS)
        if action not in ACTIONS:
            ctx.ui.notify(f"Pending: {pending.label}. {USAGE}")
            return
        try:
            result = await self._actions.resolve(action, "The user decided with /resolve.")
        except ToolFailed as error:
            ctx.ui.notify(str(error), "error")
        else:
            texts = [part.text for part in result.content if isinstance(part, Text)]
            ctx.ui.notify("\n".join(texts))
        finally:
            self._record()

    def _details(
        self, params: ResolveParams, pending: PendingAction | None, result: ToolResult
    ) -> Json:
        assert pending is not None  # otherwise ``resolve`` has raised
        details = {
            "action": params.action,
            "reason": params.reason,
            "label": pending.label,
            "sourceToolName": pending.source_tool_name,
            "remaining": [action.label for action in self._actions.all],
        }
        if result.details is not UNSET:
            details["sourceDetails"] = result.details
        return details

    def approval_details(self, arguments: Json) -> list[str]:
        """The lines of a permission dialog: the action and its label."""
        pending = self._actions.peek()
        label = "no pending action" if pending is None else pending.label
        return [f"{arguments.get('action', '')}: {label}"]

    def effects(self, params: ResolveParams) -> CallEffects:
        """The files that the pending action writes; unknown if its tool does not name them."""
        files, pending = self._pi.context.files, self._actions.peek()
        if params.action == "discard" or pending is None:
            return files.effects()
        named = files.effects(*(files.effect(path, writes=True) for path in pending.files))
        return replace(named, is_declared=bool(pending.files))

    # Lost actions ---------------------------------------------------------------------------------

    def changed(self) -> None:
        """Record a new action.

        Removals without the tool are not recorded: the extension is being unloaded, and the next
        session reads from the last entry which actions were lost.
        """
        if len(self._actions.all) > len(self._recorded):
            self._record()

    def _record(self) -> None:
        labels = tuple(action.label for action in self._actions.all)
        if labels == self._recorded:
            return
        self._recorded = labels
        if labels:
            self._lost = ()
        self._pi.append_entry(ENTRY, {"pending": [*labels]})

    def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Read which actions were pending before the session was reloaded or resumed."""
        self._recorded = self._lost = recorded_labels(ctx.session_manager.get_branch())

    def session_tree(self, event: SessionTreeEvent, ctx: ExtensionContext) -> None:
        """Drop all actions: the previews may belong to another branch."""
        while self._actions.pop() is not None:
            pass
        self._recorded = self._lost = recorded_labels(ctx.session_manager.get_branch())


def recorded_labels(branch: Iterable[Entry]) -> tuple[str, ...]:
    """The labels of the actions that were pending at the end of a branch."""
    for entry in reversed([*branch]):
        match entry:
            case Custom(custom_type="pending_actions", data={"pending": [*labels]}):
                return tuple(map(str, labels))
            case _:
                continue
    return ()


class ResolveFirst(Policy):
    """Makes the model resolve an action in the run that made it; reminds it in later ones.

    A later prompt may be about something else, so it is not forced to decide first.
    """

    def __init__(self, actions: PendingActions, choice: Callable[[], str]) -> None:
        self._actions = actions
        self._choice = choice
        self._earlier: tuple[PendingAction, ...] = ()
        """The actions that were pending before the current prompt."""

    def before_agent_start(self, event: BeforeAgentStartEvent, ctx: ExtensionContext) -> None:
        """Note which actions the prompt found pending."""
        self._earlier = self._actions.all

    async def before_request(self, request: Request) -> Request:
        """Add a forced tool choice to the request, or a reminder that is not stored."""
        pending = self._actions.peek()
        if pending is None or request.purpose != "turn":
            return request
        if not any(tool.name == NAME for tool in request.tools):
            return request  # another extension limits the tools
        if any(pending is action for action in self._earlier):
            return _reminding(request, LATER_REMINDER, pending)
        choice = self._choice()
        if choice == "force" or (choice != "remind" and can_be_forced(request)):
            return replace(request, tool_choice={"type": "tool", "name": NAME})
        return _reminding(request, REMINDER, pending)


def _reminding(request: Request, reminder: str, pending: PendingAction) -> Request:
    message = UserMessage(content=reminder.format(label=pending.label))
    return replace(request, messages=[*request.messages, message])


def can_be_forced(request: Request) -> bool:
    """Whether the provider accepts a forced tool for this model.

    Servers with the API of OpenAI's Chat Completions reject it for models that think (DeepSeek,
    Qwen, Kimi). Bedrock accepts it for models of Anthropic and for Nova alone.
    """
    model: Any = request.model
    if model.api == "openai-completions":
        return request.thinking == "off" or model.provider == "openai"
    if model.api.startswith("bedrock"):
        return "anthropic" in model.id or "nova" in model.id
    return True
