from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.tools.define import tool
from pi.agent.tools.tool import AgentTool
from pi.ai.providers.faux import calls, says
from pi.ai.transcript import fold
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.port.results import SubSession
from pi.coding.runtime.options import ToolFilter
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


def named(name: str) -> AgentTool:
    def run() -> str:
        """Nothing."""
        return "done"

    return tool(name=name)(run)


def declared(hosted: ExtensionFixture, request: int = -1) -> list[str]:
    system, _ = fold(hosted.fixture.provider.requests[request].messages, keep_later=True)
    return [tool.name for tool in system.tools]


async def test_a_tool_registered_after_a_selection_is_active(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        pi.register_tool(named("early"))
        pi.set_active_tools(["read"])
        pi.register_tool(named("late"))
        pi.register_tool(named("rare"), exposure="on_demand")
        pi.register_tool(named("early"))  # replaced: it was known, so it stays off

        assert hosted.session.active_tools == ("read", "late")


async def test_limits_intersect_and_removing_them_restores_the_tools(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        before = hosted.session.active_tools
        first = pi.limit_tools({"read", "bash", "late"})
        second = pi.limit_tools(["read", "late", "write"])
        pi.register_tool(named("late"))
        both = hosted.session.active_tools
        first.remove()
        one = hosted.session.active_tools
        second.remove()

        assert (both, one) == (("read", "late"), ("read", "write", "late"))
        assert hosted.session.active_tools == (*before, "late")


async def test_enabled_tools_are_active_beside_a_selection_and_within_limits(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        pi.register_tool(named("rare"), exposure="on_demand")
        pi.register_tool(named("secret"), exposure="hidden")
        pi.set_active_tools(["read"])
        enabled = pi.enable_tools(["rare", "secret", "missing"])
        with_both = hosted.session.active_tools
        limit = pi.limit_tools(["read", "rare"])
        limited = hosted.session.active_tools
        limit.remove()
        enabled.remove()

        assert with_both == ("read", "rare", "secret")
        assert limited == ("read", "rare")
        assert hosted.session.active_tools == ("read",)


async def test_an_extension_cannot_enable_a_tool_that_the_user_excluded(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, tools=ToolFilter(only=("read",))) as hosted:
        apis[0].enable_tools(["bash"])

        assert hosted.session.active_tools == ("read",)


async def test_an_unlisted_tool_is_declared_and_not_listed(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(
        tmp_path, apis.append, steps=(calls("resolve"), says("ok"))
    ) as hosted:
        (pi,) = apis
        pi.register_tool(named("resolve"), exposure="unlisted")
        pi.set_active_tools(["read"])
        await hosted.session.prompt("go")

        assert declared(hosted, 0) == ["read", "resolve"]
        assert "resolve" not in [tool.name for tool in pi.get_all_tools()]
        assert "done" in str(hosted.fixture.provider.requests[1].messages[-1])


@pytest.mark.parametrize(
    ("filter", "active"),
    [
        (ToolFilter(only=("read", "preview")), ("read", "preview", "decide")),
        (ToolFilter(only=("read",)), ("read",)),
        (ToolFilter(only=("read", "decide")), ("read",)),
        (ToolFilter(only=("preview",), without=("decide",)), ("preview",)),
        (ToolFilter(without=("preview", "bash", "edit", "write")), ("read",)),
        (ToolFilter(any=False), ()),
    ],
)
async def test_a_resolver_is_active_only_beside_a_deferrable_tool(
    tmp_path: Path, filter: ToolFilter, active: tuple[str, ...]
) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, tools=filter) as hosted:
        (pi,) = apis
        pi.register_tool(named("decide"), exposure="resolver")
        pi.register_tool(replace(named("preview"), deferrable=True))

        assert hosted.session.active_tools == active
        assert "decide" not in [tool.name for tool in pi.get_all_tools()]


async def test_a_resolver_follows_the_selected_tools(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        pi.register_tool(named("decide"), exposure="resolver")
        pi.register_tool(replace(named("preview"), deferrable=True), exposure="on_demand")
        before = hosted.session.active_tools
        pi.set_active_tools(["read", "preview"])

        assert "decide" not in before
        assert hosted.session.active_tools == ("read", "preview", "decide")


async def test_a_limit_set_during_a_run_holds_from_the_next_request(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        @pi.on("tool_result")
        def limit(event: object, ctx: object) -> None:
            pi.limit_tools(["read"])

    steps = (calls("bash", command="true"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert "bash" in declared(hosted, 0)
        assert declared(hosted, 1) == ["read"]


async def test_a_limit_holds_in_nested_sessions_except_for_tools_passed_to_them(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("done"),)) as hosted:
        (pi,) = apis
        pi.limit_tools(["read"])
        spec = SubSession(prompt="go", custom_tools=(named("submit"),))
        await (await pi.sub_session(spec)).result()

        assert declared(hosted) == ["read", "submit"]
