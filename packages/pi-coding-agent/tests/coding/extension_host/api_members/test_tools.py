from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import ToolResult
from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_tools_can_be_added_removed_and_selected_during_a_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        @pi.tool(name="say", description="Say it.")
        async def say(text: str) -> str:
            return text

    steps = (calls("say", text="hi"), says("one"), says("two"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        (pi,) = apis
        await hosted.session.prompt("go")
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert results[0].content[0].text == "hi"  # type: ignore[union-attr]
        assert "say" in pi.get_active_tools()
        assert hosted.session.active_tools == pi.get_active_tools()

        other = pi.tool(_quiet)
        hidden = pi.register_tool(other, exposure="hidden")
        assert "_quiet" not in [tool.name for tool in pi.get_all_tools()]
        hidden.remove()
        pi.set_active_tools(["read", "say"])
        await hosted.session.prompt("again")

        system = [m for m in hosted.session.messages if isinstance(m, SystemMessage)]
        assert [tool["name"] for tool in system[-1].tools_removed or ()] == [
            "bash",
            "edit",
            "write",
        ]


async def _quiet() -> str:
    """Say nothing."""
    return ""


async def test_a_tool_registered_during_a_run_is_available_in_the_next_turn(
    tmp_path: Path,
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def grow(event: Any, ctx: Any) -> None:
            pi.tool(_quiet)

    steps = (calls("bash", command="true"), calls("_quiet"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]

    assert [result.is_error for result in results] == [False, False]


async def test_a_built_in_tool_is_replaced_and_wrapped(tmp_path: Path) -> None:
    def replacing(pi: ExtensionAPI) -> None:
        @pi.tool(name="bash")
        async def bash(command: str) -> str:
            return f"pretended {command}"

    def wrapping(pi: ExtensionAPI) -> None:
        async def around(params: Any, ctx: Any, inner: Any) -> ToolResult:
            result: ToolResult = await inner(params)
            return ToolResult.of(f"<{result.content[0].text}>")  # type: ignore[union-attr]

        pi.wrap_tool("bash", around)

    steps = (calls("bash", command="rm -rf /"), says("done"))
    async with extension_session(tmp_path, replacing, wrapping, steps=steps) as hosted:
        await hosted.session.prompt("go")
        (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]

    assert result.content[0].text == "<pretended rm -rf />"  # type: ignore[union-attr]


async def test_on_demand_tools_are_inactive_and_hidden_tools_are_unlisted(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}

    async def run(params: Any, ctx: Any) -> str:
        return "done"

    def extension(pi: ExtensionAPI) -> None:
        for exposure in ("active", "on_demand", "hidden"):
            tool = make_tool(name=exposure, description=exposure, params=schema, run=run)
            pi.register_tool(tool, exposure=exposure)

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, extension, apis.append) as hosted:
        (pi,) = apis
        names = {"active", "on_demand", "hidden"}
        on = [name for name in pi.get_active_tools() if name in names]
        listed = [tool.name for tool in pi.get_all_tools() if tool.name in names]
        pi.set_active_tools(["on_demand", "hidden"])

        assert (on, listed) == (["active"], ["active", "on_demand"])
        assert hosted.session.active_tools == ("on_demand", "hidden")
