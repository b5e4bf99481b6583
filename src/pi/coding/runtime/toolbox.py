"""The tools of a session: all tools, and the active ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from pi.agent.agent import Agent
from pi.agent.tools.tool import AgentTool, FilePreview
from pi.ai.messages import ToolCall
from pi.coding.prompt import ToolNote
from pi.coding.runtime.options import ToolFilter
from pi.coding.runtime.workspace import Workspace

if TYPE_CHECKING:
    from pi.coding.extension_host.contributions.tools import ExtensionTool

    ExtensionTools: TypeAlias = Mapping[str, ExtensionTool]


class Toolbox:
    """Built-in tools of the workspace, and added ones; later tools of the same name win."""

    def __init__(
        self,
        agent: Agent,
        workspace: Workspace,
        filter: ToolFilter,
        *,
        contributed: Callable[[], ExtensionTools] = dict,
        wrap: Callable[[AgentTool], AgentTool] = lambda tool: tool,
    ) -> None:
        self._agent = agent
        self._workspace = workspace
        self._contributed = contributed
        """Current tools of extensions."""
        self._wrap = wrap
        """Returns a tool with the extensions' tool wraps applied."""
        self._filter = filter
        self._added: dict[str, tuple[AgentTool, ToolNote]] = {}
        self._chosen: tuple[str, ...] | None = None
        self._made: dict[str, AgentTool] = {}

    def add(self, tool: AgentTool, note: ToolNote | None = None) -> None:
        """Add a tool. It is active unless the user selected others."""
        self._added[tool.name] = (tool, note or ToolNote(name=tool.name))

    def remove(self, name: str) -> None:
        """Remove a tool; a built-in tool of that name becomes visible again."""
        self._added.pop(name, None)

    def select(self, names: Iterable[str]) -> None:
        """Activate exactly these tools from the next run on; unknown names are ignored.

        ``refresh`` activates them in the current run.
        """
        self._chosen = tuple(names)

    def refresh(self) -> None:
        """Declare changed tools with the next request of the current run."""
        if self._agent.is_running:  # otherwise the next run starts with the current tools
            self._agent.tools = self.active()

    def preview(self, call: ToolCall) -> FilePreview | None:
        """Return the file that a partial tool call would write."""
        tool = next((tool for tool in self._agent.tools if tool.name == call.name), None)
        if tool is None or tool.preview is None:
            return None
        mended = tool.prepare_arguments(call.arguments) if tool.prepare_arguments else None
        return tool.preview(mended or call.arguments)

    def move_to(self, workspace: Workspace) -> None:
        """Use the built-in tools of another workspace."""
        self._workspace = workspace
        self._made.clear()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all tools."""
        return self._names(self._contributed())

    def _names(self, contributed: ExtensionTools) -> tuple[str, ...]:
        filter = self._filter
        if not filter.any:
            return ()
        built_in = self._workspace.tools if filter.built_in else {}
        names = dict.fromkeys((*built_in, *self._added, *contributed))
        if filter.only is not None:
            names = dict.fromkeys(name for name in filter.only if name in names)
        return tuple(name for name in names if name not in filter.without)

    @property
    def selected_names(self) -> frozenset[str]:
        """Return the tools that the command line or the settings name, existing or not."""
        filter = self._filter
        if not filter.any:
            return frozenset()
        named = filter.only
        if named is None:
            named = self._workspace.settings.values.default_tools
        return frozenset(named) - set(filter.without)

    @property
    def active_names(self) -> tuple[str, ...]:
        """Return the names of the active tools."""
        return self._active_names(self._contributed())

    def _active_names(self, contributed: ExtensionTools) -> tuple[str, ...]:
        known = self._names(contributed)
        if self._chosen is not None:
            return tuple(name for name in self._chosen if name in known)
        if self._filter.only is not None:
            return known
        offered = {name for name, tool in contributed.items() if tool.exposure == "active"}
        usual = {*self._workspace.settings.values.default_tools, *self._added, *offered}
        return tuple(name for name in known if name in usual)

    def active(self) -> tuple[AgentTool, ...]:
        """Return the active tools, ready to run."""
        contributed = self._contributed()
        names = self._active_names(contributed)
        return tuple(self._wrap(self._tool(name, contributed)) for name in names)

    def listed(self) -> tuple[AgentTool, ...]:
        """Return all tools except those that extensions hide."""
        contributed = self._contributed()
        hidden = {name for name, tool in contributed.items() if tool.exposure == "hidden"}
        names = [name for name in self._names(contributed) if name not in hidden]
        return tuple(self._wrap(self._tool(name, contributed)) for name in names)

    def notes(self) -> tuple[ToolNote, ...]:
        """Return the prompt texts of the active tools."""
        contributed = self._contributed()
        return tuple(self._note(name, contributed) for name in self._active_names(contributed))

    def _tool(self, name: str, contributed: ExtensionTools) -> AgentTool:
        if (found := contributed.get(name)) is not None:
            return found.tool
        if name in self._added:
            return self._added[name][0]
        if name not in self._made:
            self._made[name] = self._workspace.tools[name].make()
        return self._made[name]

    def _note(self, name: str, contributed: ExtensionTools) -> ToolNote:
        if (found := contributed.get(name)) is not None:
            return found.note
        if name in self._added:
            return self._added[name][1]
        built_in = self._workspace.tools[name]
        return ToolNote(name=name, snippet=built_in.snippet, guidelines=built_in.guidelines)
