"""Applies the contributions of extensions to a session and to its nested sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool, ToolResult
from pi.ai.event_stream import EventStream
from pi.ai.messages import Json, ToolCall
from pi.ai.models.model import Model
from pi.base.records import replace
from pi.base.tasks import propagated_exceptions
from pi.coding.bus import EventBus
from pi.coding.extension_host.containment import contained
from pi.coding.extension_host.contributions.model_wraps import (
    ModelRequest,
    Wrapped,
    stream_through,
)
from pi.coding.extension_host.contributions.references import with_references
from pi.coding.extension_host.contributions.registries import Registries
from pi.coding.extension_host.contributions.tools import (
    as_guarded_call,
    with_file_notes,
    wrap_tool,
)
from pi.coding.extension_host.events.handlers import DECISIONS, ReportHandlerFailure
from pi.coding.extension_host.events.policy import ExtensionPolicy, calling_agent
from pi.coding.extension_host.events.run import (
    AfterProviderResponseEvent,
    BeforeProviderHeadersEvent,
    BeforeProviderRequestEvent,
)
from pi.coding.files.layers import FileLayer, OpenText, ReadGuard, running_call
from pi.coding.prompt import tagged
from pi.coding.shell.spawns import SpawnRequest, SpawnWrap


class SessionWraps:
    """Applies wraps, policies and sections; contributions of the parent session apply first."""

    def __init__(
        self,
        registries: Registries,
        bus: EventBus,
        policy: ExtensionPolicy,
        failed: ReportHandlerFailure,
        inherited: SessionWraps | None,
        agent: str = "",
    ) -> None:
        self._registries = registries
        self._bus = bus
        self._policy = policy
        self._failed = failed
        self._inherited = inherited
        self._agent = agent or "sub-agent"
        """The name of the agent of a nested session."""

    def wrapped(self, tools: Iterable[AgentTool]) -> tuple[AgentTool, ...]:
        """``tools`` with all wraps of extensions."""
        if references := self._registries.references.values:
            tools = [with_references(tool, references) for tool in tools]
        if self.file_layers():
            tools = [with_file_notes(tool) for tool in tools]
        if wraps := self._registries.tool_wraps.values:
            tools = [wrap_tool(tool, wraps) for tool in tools]
        if self.file_layers():
            tools = [as_guarded_call(tool) for tool in tools]
        return tuple(tools)

    def active_tools(
        self, selected: Iterable[str], available: Collection[str], added: Collection[str]
    ) -> tuple[str, ...]:
        """The ``available`` names that are selected or enabled by extensions, within all limits."""
        enabled = (name for names in self._registries.enabled_tools.values for name in names)
        names = dict.fromkeys((*selected, *enabled))
        return self.restrict_tools((name for name in names if name in available), added)

    def restrict_tools(self, names: Iterable[str], added: Collection[str]) -> tuple[str, ...]:
        """The names that all limits allow.

        Limits of the parent session do not apply to ``added``, the tools that its extension passed
        to this nested session.
        """
        own = self._registries.tool_limits.values
        allowed = tuple(name for name in names if all(name in limit for limit in own))
        if self._inherited is None:
            return allowed
        others = set(self._inherited.restrict_tools(allowed, ()))
        return tuple(name for name in allowed if name in added or name in others)

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name; one that fails is left out."""
        texts: dict[str, str] = {}
        for name, row in self._registries.sections.winners().items():
            try:
                text = row.value[1]()
            except propagated_exceptions():
                raise
            except BaseException as error:
                self._failed(row.owner, f"section {name}", error)
                continue
            if text:
                texts[name] = tagged(name, text)
        return texts

    def ask_model(
        self, request: ModelRequest, ask: Callable[[ModelRequest], EventStream]
    ) -> EventStream:
        """Send a request through all wraps of this session."""
        request = with_provider_events(request, self._bus)
        wraps = [
            wrapped.wrap for wrapped in self._model_wraps() if wrapped.concerns(request.purpose)
        ]
        return stream_through(wraps, request, ask) if wraps else ask(request)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """File layers around every write, inherited ones first."""
        inherited = () if self._inherited is None else self._inherited.nested_file_layers()
        return inherited + tuple(wrapped.layer for wrapped in self._registries.file_layers.values)

    def nested_file_layers(self) -> tuple[FileLayer, ...]:
        """The layers that nested sessions inherit."""
        inherited = () if self._inherited is None else self._inherited.nested_file_layers()
        own = self._registries.file_layers.values
        return inherited + tuple(wrapped.layer for wrapped in own if wrapped.nested)

    def file_reads(self) -> tuple[OpenText, ...]:
        """Functions that return the text of files with unsaved changes, own ones first."""
        inherited = () if self._inherited is None else self._inherited.file_reads()
        own = (wrapped.read for wrapped in self._registries.file_layers.values)
        return (*(read for read in own if read is not None), *inherited)

    def read_guards(self) -> tuple[ReadGuard, ...]:
        """Guards of the reads of tool calls, inherited ones first."""
        inherited = () if self._inherited is None else self._inherited.read_guards()
        own = (wrapped.guard for wrapped in self._registries.file_layers.values)
        return (*inherited, *(guard for guard in own if guard is not None))

    def spawn_wraps(self, kind: str) -> tuple[SpawnWrap, ...]:
        """Wrap around processes of a kind, inherited ones first."""
        inherited = () if self._inherited is None else self._inherited.spawn_wraps(kind)
        own = (wrapped for wrapped in self._registries.spawn_wraps.values)
        concerned = (
            wrapped.wrap for wrapped in own if wrapped.kinds is None or kind in wrapped.kinds
        )
        return (*inherited, *(partial(_contained_wrap, wrap) for wrap in concerned))

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """The policies of a run, in order: ``core`` comes before those with ``at="last"``."""
        guards = () if self._inherited is None else self._inherited._guards()
        of_parents = (ParentGuard(guard, self._agent) for guard in guards)
        return (*of_parents, *self._own_policies(*core))

    def _model_wraps(self) -> tuple[Wrapped, ...]:
        inherited = () if self._inherited is None else self._inherited._model_wraps()
        return inherited + self._registries.model_wraps.values

    def _guards(self) -> tuple[Policy, ...]:
        """The policies that also apply to the tool calls of nested sessions."""
        inherited = () if self._inherited is None else self._inherited._guards()
        return (*inherited, *self._own_policies())

    def _own_policies(self, *core: Policy) -> tuple[Policy, ...]:
        first, normal, last = self._registries.placed_policies()
        return (*first, self._policy, *normal, *core, *last)


async def _contained_wrap(wrap: SpawnWrap, request: SpawnRequest) -> SpawnRequest:
    request = replace(request, call_id=running_call())
    return await contained(partial(wrap, request))


class ParentGuard(Policy):
    """Applies the tool hooks of a parent's policy in a nested session.

    Its other hooks shape the runs of the parent only.
    """

    def __init__(self, guard: Policy, agent: str) -> None:
        self._guard = guard
        self._agent = agent

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Return the call as the parent's extensions change it; raises if they refuse it."""
        token = calling_agent.set(self._agent)
        try:
            return await self._guard.before_tool(call)
        finally:
            calling_agent.reset(token)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result, as the parent's extensions change it."""
        return await self._guard.after_tool(call, result)


_KINDS = (BeforeProviderHeadersEvent, BeforeProviderRequestEvent, AfterProviderResponseEvent)


def with_provider_events(request: ModelRequest, bus: EventBus) -> ModelRequest:
    """Add the provider events to ``request``, if a handler subscribed to one of them."""
    if bus.subscribed.isdisjoint(_KINDS):
        return request
    options = request.options
    headers: dict[str, str | None] = {**(request.model.headers or {}), **(options.headers or {})}

    async def on_payload(payload: Json, model: Model) -> Json:
        if options.on_payload is not None:
            payload = await options.on_payload(payload, model) or payload
        # Changed in place: wires build the headers after ``on_payload`` returned.
        await bus.emit(BeforeProviderHeadersEvent(headers=headers), raises=DECISIONS)
        question = BeforeProviderRequestEvent(payload=payload)
        return (await bus.query(question, raises=DECISIONS)).payload

    async def on_response(status: int, headers: Mapping[str, str], model: Model) -> None:
        if options.on_response is not None:
            await options.on_response(status, headers, model)
        await bus.emit(
            AfterProviderResponseEvent(status=status, headers=dict(headers)), raises=DECISIONS
        )

    return replace(
        request,
        options=replace(options, headers=headers, on_payload=on_payload, on_response=on_response),
    )
