"""What extensions lend to a session: theirs, and what the session that it works for has."""

from __future__ import annotations

from collections.abc import Callable

from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool, ToolResult
from pi.ai.messages import ToolCall
from pi.ai.stream import EventStream
from pi.coding.bus import PASSED_ON
from pi.coding.extension_host.contributions.model_wraps import (
    ModelRequest,
    Wrapped,
    asked_through,
    watched,
)
from pi.coding.extension_host.contributions.references import referring
from pi.coding.extension_host.contributions.registries import Registries
from pi.coding.extension_host.contributions.tools import annotated, wrapped
from pi.coding.extension_host.events.handlers import Hooks, ReportHandlerFailure
from pi.coding.extension_host.events.policy import ExtensionPolicy
from pi.coding.files.layers import FileLayer
from pi.coding.prompt import tagged


class SessionWraps:
    """Stands in and around what a session does; ``inherited`` guards it as well."""

    def __init__(
        self,
        registries: Registries,
        hooks: Hooks,
        policy: ExtensionPolicy,
        failed: ReportHandlerFailure,
        inherited: SessionWraps | None,
    ) -> None:
        self._registries = registries
        self._hooks = hooks
        self._policy = policy
        self._failed = failed
        self._inherited = inherited

    def dressed(self, tool: AgentTool) -> AgentTool:
        """``tool`` inside everything that extensions have wrapped around it."""
        tool = referring(tool, self._registries.references.values)
        if self.file_layers():
            tool = annotated(tool)
        return wrapped(tool, self._registries.tool_wraps.values)

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name; one that fails is left out."""
        texts: dict[str, str] = {}
        for name, row in self._registries.sections.winners().items():
            try:
                text = row.value[1]()
            except PASSED_ON:
                raise
            except BaseException as problem:
                self._failed(row.owner, f"section {name}", problem)
                continue
            if text:
                texts[name] = tagged(name, text)
        return texts

    def ask_model(
        self, request: ModelRequest, ask: Callable[[ModelRequest], EventStream]
    ) -> EventStream:
        """The answer to a request of this session, through everything that stands around it."""
        request = watched(request, self._hooks)
        wraps = [each.wrap for each in self._model_wraps() if each.concerns(request.purpose)]
        return asked_through(wraps, request, ask) if wraps else ask(request)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """What stands around every write, what is inherited first."""
        inherited = () if self._inherited is None else self._inherited.file_layers()
        return inherited + self._registries.file_layers.values

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """Who is asked in a run, in order: ``core`` before extensions that want to be last."""
        guards = () if self._inherited is None else self._inherited._guards()
        return (*guards, *self._own_policies(*core))

    def _model_wraps(self) -> tuple[Wrapped, ...]:
        inherited = () if self._inherited is None else self._inherited._model_wraps()
        return inherited + self._registries.model_wraps.values

    def _guards(self) -> tuple[Policy, ...]:
        """Who is asked about the calls of a session that works for this one."""
        inherited = () if self._inherited is None else self._inherited._guards()
        return (*inherited, *map(ParentGuard, self._own_policies()))

    def _own_policies(self, *core: Policy) -> tuple[Policy, ...]:
        at = self._registries.policies_at
        return (*at("first"), self._policy, *at("normal"), *core, *at("last"))


class ParentGuard(Policy):
    """What a policy says of tool calls, asked in a session that works for its own as well.

    The rest of a policy shapes the runs of its own session, and no others.
    """

    def __init__(self, guard: Policy) -> None:
        self._guard = guard

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Let the call run, unless the parent's extensions forbid it."""
        return await self._guard.before_tool(call)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """The result, as the parent's extensions want it."""
        return await self._guard.after_tool(call, result)
