"""Tools: more of them, and what stands around those of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack, overload

from pi.agent.tool import AgentTool
from pi.agent.tool_forms import ToolOptions
from pi.ai.messages import Json
from pi.coding.extension_host import registering
from pi.coding.extension_host.members.api_members import ApiMembers
from pi.coding.extension_host.order import At
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.tools import Exposure, ToolWrap, Wrapping, checked


class ToolMembers(ApiMembers):
    """Registers, wraps and chooses tools."""

    def register_tool(
        self,
        tool: AgentTool,
        *,
        prompt_snippet: str = "",
        prompt_guidelines: Sequence[str] = (),
        exposure: Exposure = "active",
    ) -> Registration:
        """Have one more tool, or another one of that name; at any time."""
        return registering.add_tool(
            self._instance,
            checked(tool),
            snippet=prompt_snippet,
            guidelines=tuple(prompt_guidelines),
            exposure=exposure,
        )

    add_tool = register_tool

    @overload
    def tool(self, function: Callable[..., Any], /) -> AgentTool: ...

    @overload
    def tool(
        self, /, *, name: str = "", description: str = "", **options: Unpack[ToolOptions]
    ) -> Callable[[Callable[..., Any]], AgentTool]: ...

    def tool(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str = "",
        description: str = "",
        **options: Unpack[ToolOptions],
    ) -> AgentTool | Callable[[Callable[..., Any]], AgentTool]:
        """Make a typed function a tool and register it: ``@pi.tool``, ``@pi.tool(name="x")``."""

        def decorate(function: Callable[..., Any]) -> AgentTool:
            made = registering.tool_of(function, name, description, options)
            self.register_tool(made)
            return made

        return decorate if function is None else decorate(function)

    def wrap_tool(
        self,
        name: str,
        run: ToolWrap,
        *,
        params: type | Json | None = None,
        description: str | None = None,
        at: At = "normal",
    ) -> Registration:
        """Stand around the tool of a name: ``await run(params, ctx, inner)``."""
        wrapping = Wrapping(name=name, run=run, params=params, description=description)
        return self._instance.add_row(self._registries.tool_wraps, wrapping, at)

    def get_active_tools(self) -> tuple[str, ...]:
        """The names of the tools that are on."""
        return tuple(self._link.session.tools.active())

    def get_all_tools(self) -> tuple[AgentTool, ...]:
        """Every tool that could be on, but for hidden ones."""
        return tuple(self._link.session.tools.all())

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Have exactly these tools on from the next request on."""
        self._link.session.tools.choose(names)
