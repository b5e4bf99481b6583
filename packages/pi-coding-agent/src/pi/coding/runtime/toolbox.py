"""The tools of a session: all tools, the active ones, and tool calls of extensions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from pi.agent.agent import Agent
from pi.agent.events import AgentEvent, ToolExecutionUpdate
from pi.agent.policy import Policy, StopRun
from pi.agent.tools.approval import ToolApproval
from pi.agent.tools.effects import UNKNOWN_EFFECTS, CallEffects, judged_tool
from pi.agent.tools.names import changed_tools, removed_tools, tool_matches
from pi.agent.tools.tool import AgentTool, FilePreview, ToolFailed, ToolResult, Update
from pi.ai.messages import AssistantMessage, Json, ToolCall
from pi.base.records import replace
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.prompt import ToolNote
from pi.coding.runtime.options import ToolFilter
from pi.coding.runtime.workspace import Workspace
from pi.coding.tools.registry import DEFAULT_TOOLS

if TYPE_CHECKING:
    from pi.agent.tool_calls import ToolBatch
    from pi.coding.extension_host.contributions.tools import ExtensionTool

    ExtensionTools: TypeAlias = Mapping[str, ExtensionTool]

TOOL_SEARCH = "tool_search"
"""The tool that makes deferred tools callable; it exists while there are any."""
SEARCH_NOTE = ToolNote(name=TOOL_SEARCH, snippet="Find tools that are not declared yet")
MCP_PREFIX = "mcp__"
ALWAYS_ACTIVE = ("unlisted", "resolver")
"""Exposures of tools that no selection deactivates."""
NOT_LISTED = ("hidden", *ALWAYS_ACTIVE)


class Toolbox:
    """Built-in tools of the workspace, and added ones; later tools of the same name win."""

    def __init__(
        self,
        agent: Agent,
        workspace: Workspace,
        filter: ToolFilter,
        *,
        extensions: ExtensionContributions | None = None,
        wrap: Callable[[Iterable[AgentTool]], tuple[AgentTool, ...]] = tuple,
        guards: Callable[[], Sequence[Policy]] = tuple,
    ) -> None:
        self._agent = agent
        self._workspace = workspace
        self._extensions = extensions or ExtensionContributions()
        self._wrap = wrap
        """Returns tools with the extensions' tool wraps applied."""
        self._guards = guards
        """Returns the policies that guard the calls of extensions."""
        self._filter = filter
        self._added: dict[str, tuple[AgentTool, ToolNote]] = {}
        self._chosen: tuple[str, ...] | None = None
        self._known_then: frozenset[str] = frozenset()
        """All tools at the time of the selection."""
        self._built_in: dict[str, AgentTool] = {}
        self._branch: tuple[str, ...] | None = None
        """The built-in tools of the branch that was resumed."""
        self._loaded: set[str] = set()
        """Deferred tools that were searched for, until the conversation declares them."""
        self._deselected: frozenset[str] = frozenset()
        """Deferred tools that a selection has deactivated, until they are searched for again."""

    def add(self, tool: AgentTool, note: ToolNote | None = None) -> None:
        """Add a tool. It is active unless the user selected other tools."""
        self._added[tool.name] = (tool, note or ToolNote(name=tool.name))

    def remove(self, name: str) -> None:
        """Remove a tool; a built-in tool of that name becomes visible again."""
        self._added.pop(name, None)

    def select(self, names: Iterable[str]) -> None:
        """Activate only these tools from the next run on; unknown names are ignored.

        Tools that are registered later are active by default. Unlisted tools are not affected.
        ``refresh`` applies the selection to the current run.
        """
        self._chosen = tuple(names)
        self._known_then = frozenset(self.names)
        self._loaded.clear()
        self._deselected = self._agent.declared_tools - {*self._chosen}

    def resume(self, names: Iterable[str] | None) -> None:
        """Activate the built-in tools among ``names``, those of a resumed branch.

        ``None`` is a branch without tools: a new session. Tools of extensions depend on their
        settings, also in a resumed session.
        """
        self._branch = None
        if names is not None and not self._filter.replaces:
            self._chosen = None
            self._branch = tuple(name for name in names if name in self._workspace.tools)

    def follow_defaults(self, before: Sequence[str]) -> None:
        """Activate tools that a reload has added to the setting; deactivate none.

        ``before`` was the setting until then.
        """
        if self._chosen is not None or self._filter.replaces:
            return
        now = self._workspace.settings.values.default_tools
        if tuple(before) == now:
            return
        earlier = self._branch or changed_tools(DEFAULT_TOOLS, before)
        added = set(changed_tools(DEFAULT_TOOLS, now)) - set(changed_tools(DEFAULT_TOOLS, before))
        self._branch = (*earlier, *sorted(added - set(earlier)))

    def selection(self) -> tuple[str, ...] | None:
        """Return the selected built-in tools, whatever extensions limit or replace.

        ``None`` if options replace those of the branch.
        """
        if self._filter.replaces:
            return None
        contributed = self._extensions.tools()
        names = self._names(contributed)
        selected = set(self._selected_names(names, contributed))
        return tuple(name for name in self._workspace.tools if name in selected and name in names)

    def refresh(self) -> None:
        """Declare changed tools with the next request of the current run."""
        if self._agent.is_running:  # otherwise the next run starts with the current tools
            self._agent.tools = self.active()

    def has_preview(self, name: str) -> bool:
        """Whether an active tool supports ``preview``."""
        tool = self._running_tool(name)
        return tool is not None and tool.preview is not None

    def preview(self, call: ToolCall) -> FilePreview | None:
        """Return the text that a call adds to a file, even of incomplete arguments; or ``None``."""
        tool = self._running_tool(call.name)
        if tool is None or tool.preview is None:
            return None
        prepared = tool.prepare_arguments(call.arguments) if tool.prepare_arguments else None
        return tool.preview(prepared or call.arguments)

    def approval(self, call: ToolCall) -> ToolApproval:
        """Return the effects that the tool declares for a call; the default for an unknown tool."""
        tool = self._judged_tool(call.name)
        return ToolApproval() if tool is None else tool.approval_for(call.arguments)

    def effects(self, call: ToolCall) -> CallEffects:
        """Return what a call reads, writes and contacts; unknown for an unknown tool."""
        tool = self._judged_tool(call.name)
        return UNKNOWN_EFFECTS if tool is None else tool.effects_for(call.arguments)

    def _judged_tool(self, name: str) -> AgentTool | None:
        """Return the tool that a guard decides about, which may be one of a nested session."""
        judged: AgentTool | None = judged_tool(name) or self._running_tool(name)
        if judged is not None:
            return judged
        contributed = self._extensions.tools()
        if name not in self._names(contributed):
            return None
        (tool,) = self._ready([self._make_tool(name, contributed)])
        return tool

    async def call(
        self, name: str, arguments: Json, *, caller: str, update: Update | None = None
    ) -> ToolResult:
        """Call a tool, active or not, for the extension ``caller``, with the guards of the model.

        Raises ``ToolFailed`` if the tool does not exist or is not allowed, ``StopRun`` if a guard
        ends the run. Cancelling cancels the tool.
        """
        contributed = self._extensions.tools()
        names = self._names(contributed)
        if name not in names:
            raise unknown_tool(name, names)
        if not self._extensions.restrict_tools((name,), self._added):
            raise ToolFailed(f"Tool {name} is not allowed now.")
        (tool,) = self._ready([self._make_tool(name, contributed)])
        return await call_tool(
            self._agent, tool, arguments, policies=self._guards(), caller=caller, update=update
        )

    def _ready(self, tools: list[AgentTool]) -> tuple[AgentTool, ...]:
        """Return the tools with all wraps; each says in which folder its calls run."""

        def unknown(params: object) -> CallEffects:
            return replace(UNKNOWN_EFFECTS, cwd=str(self._workspace.cwd))

        return tuple(
            tool if tool.effects is not None else replace(tool, effects=unknown)
            for tool in self._wrap(tools)
        )

    def _running_tool(self, name: str) -> AgentTool | None:
        """Return the tool with that name in the current run, or ``None``."""
        return next((tool for tool in self._agent.tools if tool.name == name), None)

    def move_to(self, workspace: Workspace) -> None:
        """Use the built-in tools of another workspace."""
        self._workspace = workspace
        self._built_in.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all tools."""
        return self._names(self._extensions.tools())

    def _names(self, contributed: ExtensionTools) -> tuple[str, ...]:
        filter = self._filter
        if not filter.any:
            return ()
        names = dict.fromkeys((*self._built_in_names(), *self._added, *contributed))
        if deferred := _deferred(contributed):
            names[TOOL_SEARCH] = None
        if filter.only is not None:
            # Resolvers are added: without one a previewed change could not be applied.
            allowed = (*filter.only, *_resolvers(contributed))
            if not any(name.startswith(MCP_PREFIX) for name in filter.only):
                allowed += tuple(name for name in deferred if name.startswith(MCP_PREFIX))
            names = dict.fromkeys(
                name for written in allowed for name in names if tool_matches(written, name)
            )
        return tuple(n for n in names if not any(tool_matches(w, n) for w in filter.without))

    def _built_in_names(self) -> Iterable[str]:
        filter, tools = self._filter, self._workspace.tools
        if not filter.built_in:
            return ()
        if filter.built_ins is None:
            return tools
        return (name for name in tools if name in filter.built_ins)

    @property
    def known(self) -> frozenset[str]:
        """The names of all tools, also excluded ones and those of extensions that are off."""
        extensions = self._extensions
        names = (*self._workspace.tools, *self._added, *extensions.tools(), TOOL_SEARCH)
        return frozenset(names) | extensions.declared_tools()

    @property
    def selected(self) -> tuple[str, ...]:
        """Return the tools that the user selected by name, whether or not they exist."""
        usual = self._branch
        if usual is None:
            usual = self._workspace.settings.values.default_tools
        return selected_tools(self._filter, usual)

    @property
    def active_names(self) -> tuple[str, ...]:
        """Return the names of the active tools."""
        return self._active_names(self._extensions.tools())

    def _active_names(self, contributed: ExtensionTools) -> tuple[str, ...]:
        names = self._names(contributed)
        selected = self._selected_names(names, contributed)
        active = self._extensions.active_tools(selected, names, self._added)
        if not (resolvers := _resolvers(contributed)) or self._any_deferrable(active, contributed):
            return active
        return tuple(name for name in active if name not in resolvers)

    def _any_deferrable(self, names: Iterable[str], contributed: ExtensionTools) -> bool:
        """Whether one of the tools may leave pending actions; built-in tools never do."""
        return any(
            self._make_tool(name, contributed).deferrable
            for name in names
            if name in contributed or name in self._added
        )

    def _selected_names(self, names: tuple[str, ...], contributed: ExtensionTools) -> Iterable[str]:
        """Return the default tools, or the selected ones and those registered afterwards."""
        deferred = self._inactive_deferred(contributed)
        if self._chosen is None and (only := self._filter.only) is not None:
            return (
                name
                for name in names
                if name not in deferred or any(_names_deferred(written, name) for written in only)
            )
        exposed = {name: tool.exposure for name, tool in contributed.items()}
        always = {name for name in exposed if exposed[name] in ALWAYS_ACTIVE}
        offered = {name for name in exposed if exposed[name] == "active"} | {*self._added}
        offered |= {TOOL_SEARCH}
        always |= {*_deferred(contributed)} - deferred
        if self._chosen is None:
            defaults = self._workspace.settings.values.default_tools
            removed = removed_tools((*defaults, *self._filter.changes))
            offered = {n for n in offered if not any(tool_matches(w, n) for w in removed)}
            usual = {*self.selected, *offered, *always}
            patterns = [name for name in usual if "*" in name]
            return (
                name
                for name in names
                if name in usual or any(tool_matches(pattern, name) for pattern in patterns)
            )
        # Tools that were unknown at the time of the selection stay active.
        later = {name for name in offered if name not in self._known_then} | always
        return (*self._chosen, *(name for name in names if name in later))

    def _inactive_deferred(self, contributed: ExtensionTools) -> frozenset[str]:
        """Return the deferred tools that the model has not searched for.

        The conversation declares the others, so that they stay active on their branch.
        """
        deferred = _deferred(contributed)
        if not deferred:
            return frozenset()
        callable = {*self._agent.declared_tools, *self._loaded} - self._deselected
        return frozenset(name for name in deferred if name not in callable)

    def _search(self, query: str, limit: int) -> Sequence[AgentTool]:
        """Activate the deferred tools that match a query best, and return them."""
        from pi.coding.tools.tool_search import best_tools  # lazy: few sessions have deferred tools

        contributed = self._extensions.tools()
        inactive = self._inactive_deferred(contributed)
        allowed = self._extensions.restrict_tools(self._names(contributed), self._added)
        candidates = [contributed[name].tool for name in allowed if name in inactive]
        tools = best_tools(query, candidates, limit)
        names = {tool.name for tool in tools}
        self._loaded |= names
        self._deselected -= names
        self.refresh()
        return tools

    def active(self) -> tuple[AgentTool, ...]:
        """Return the active tools, ready to run."""
        if self._loaded:
            self._loaded -= self._agent.declared_tools
        contributed = self._extensions.tools()
        names = self._active_names(contributed)
        return self._ready([self._make_tool(name, contributed) for name in names])

    def listed(self) -> tuple[AgentTool, ...]:
        """Return all tools except those of extensions that are not listed."""
        contributed = self._extensions.tools()
        hidden = {name for name, tool in contributed.items() if tool.exposure in NOT_LISTED}
        names = [name for name in self._names(contributed) if name not in hidden]
        return self._ready([self._make_tool(name, contributed) for name in names])

    def notes(self) -> tuple[ToolNote, ...]:
        """Return the prompt texts of the active tools."""
        contributed = self._extensions.tools()
        return tuple(self._tool_note(name, contributed) for name in self._active_names(contributed))

    def _make_tool(self, name: str, contributed: ExtensionTools) -> AgentTool:
        if (contributed_tool := contributed.get(name)) is not None:
            return contributed_tool.tool
        if name in self._added:
            return self._added[name][0]
        if name not in self._built_in:
            if name == TOOL_SEARCH:
                from pi.coding.tools.tool_search import tool_search_tool  # lazy: as in `_search`

                self._built_in[name] = tool_search_tool(self._search)
                return self._built_in[name]
            self._built_in[name] = self._workspace.tools[name].make()
        return self._built_in[name]

    def _tool_note(self, name: str, contributed: ExtensionTools) -> ToolNote:
        if (contributed_tool := contributed.get(name)) is not None:
            return contributed_tool.note
        if name in self._added:
            return self._added[name][1]
        if name == TOOL_SEARCH:
            return SEARCH_NOTE
        built_in = self._workspace.tools[name]
        return ToolNote(name=name, snippet=built_in.snippet, guidelines=built_in.guidelines)


def _resolvers(contributed: ExtensionTools) -> tuple[str, ...]:
    """Return the tools that are active only beside tools that may leave pending actions."""
    return tuple(name for name, tool in contributed.items() if tool.exposure == "resolver")


def _deferred(contributed: ExtensionTools) -> tuple[str, ...]:
    """Return the tools that are declared only after the model has searched for them."""
    return tuple(name for name, tool in contributed.items() if tool.exposure == "deferred")


def _names_deferred(written: str, name: str) -> bool:
    """Whether an entry of ``--tools`` asks for a deferred tool; ``*`` alone does not."""
    is_meant = "*" not in written or written.startswith(MCP_PREFIX)
    return is_meant and tool_matches(written, name)


def selected_tools(filter: ToolFilter, usual: Iterable[str]) -> tuple[str, ...]:
    """Return the tools that the user selected by name; ``usual`` is the setting's list.

    Names of the setting and of ``--tools`` may be patterns.
    """
    if not filter.any:
        return ()
    default = changed_tools(DEFAULT_TOOLS, tuple(usual))
    names = next(names for names in (filter.only, filter.built_ins, default) if names is not None)
    if filter.changes:
        names = changed_tools(names, filter.changes)
    return tuple(n for n in names if not any(tool_matches(w, n) for w in filter.without))


MAX_DEPTH = 8
"""Maximum nesting of calls: a handler of ``tool_call`` that calls a tool could recurse for ever."""

_depth: ContextVar[int] = ContextVar("pi_extension_call_depth", default=0)


def unknown_tool(name: str, names: Sequence[str]) -> ToolFailed:
    """Return the error for an unknown tool, with a suggestion."""
    from pi.base.fuzzy import nearest  # lazy: as in `call_tool`

    like = nearest(name, names)
    return ToolFailed(f"Tool {name} not found." + (f" Did you mean {like}?" if like else ""))


async def call_tool(
    agent: Agent,
    tool: AgentTool,
    arguments: Json,
    *,
    policies: Sequence[Policy],
    caller: str,
    update: Update | None,
) -> ToolResult:
    """Run one call to its end. ``update`` is called with intermediate results.

    A call that a tool makes while it runs is recorded in that tool's result, and its events are
    public. Any other call is not part of the conversation. Raises ``StopRun`` if a policy ends the
    run.
    """
    # lazy: few extensions call tools
    from secrets import token_hex

    from pi.agent.nested_calls import current_log
    from pi.agent.tool_calls import ToolBatch

    parent = current_log.get()
    depth = _depth.get()
    if depth >= MAX_DEPTH:
        raise ToolFailed(
            f"{caller} called {tool.name} inside {MAX_DEPTH} other calls of extensions."
            " A handler of tool_call probably calls a tool for its own calls."
        )
    id = parent.new_id() if parent else f"extension:{caller}:{token_hex(6)}"
    call = ToolCall(id=id, name=tool.name, arguments=arguments)

    async def emit(event: AgentEvent) -> None:
        if parent is not None:
            parent.handle(event)
        if update is not None and isinstance(event, ToolExecutionUpdate):
            partial = event.partial_result
            update(ToolResult(content=partial.content, details=partial.details))

    batch = ToolBatch(
        _calling_message(agent, call),
        tools={tool.name: tool},
        policies=policies,
        emit=emit,
        clock=agent.clock,
        model=agent.model,
        abort=agent.abort,
    )
    token = _depth.set(depth + 1)
    try:
        await _run_to_end(batch)
    finally:
        _depth.reset(token)
    if batch.next.action == "stop":
        raise StopRun(batch.next.reason, exit_code=batch.next.exit_code)
    return batch.result(call)


def _calling_message(agent: Agent, call: ToolCall) -> AssistantMessage:
    model = agent.model
    return AssistantMessage(
        content=(call,),
        api=model.api,
        provider=model.provider,
        model=model.id,
        stop_reason="toolUse",
        timestamp=agent.clock.now_ms(),
    )


async def _run_to_end(batch: ToolBatch) -> None:
    """Run a batch. A cancellation waits until its tool has ended, as in an abort."""
    work = asyncio.ensure_future(batch.run())
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        batch.cancel()
        await asyncio.wait({work})
        raise
