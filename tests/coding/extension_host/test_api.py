from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.agent.policy import Boundary, Next, Policy
from pi.agent.tool import ToolResult
from pi.agent.tool_forms import make_tool
from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.coding.compaction.strategies.strategy import Declined
from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.input_modes import InputMode
from tests.coding.extension_host.stage import playing


async def test_tools_come_and_go_during_a_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        @pi.tool(name="say", description="Say it.")
        async def say(text: str) -> str:
            return text

    steps = (calls("say", text="hi"), says("one"), says("two"))
    async with playing(tmp_path, extension, steps=steps) as play:
        (pi,) = apis
        await play.session.prompt("go")
        results = [m for m in play.session.messages if isinstance(m, ToolResultMessage)]
        assert results[0].content[0].text == "hi"  # type: ignore[union-attr]
        assert "say" in pi.get_active_tools()

        other = pi.tool(_quiet)
        hidden = pi.register_tool(other, exposure="hidden")
        assert "_quiet" not in [tool.name for tool in pi.get_all_tools()]
        hidden.remove()
        pi.set_active_tools(["read", "say"])
        await play.session.prompt("again")

        system = [m for m in play.session.messages if isinstance(m, SystemMessage)]
        assert [tool["name"] for tool in system[-1].tools_removed or ()] == [
            "bash",
            "edit",
            "write",
        ]


async def _quiet() -> str:
    """Say nothing."""
    return ""


async def test_a_tool_that_changes_in_a_run_is_declared_with_the_next_request(
    tmp_path: Path,
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def grow(event: Any, ctx: Any) -> None:
            pi.tool(_quiet)

    steps = (calls("bash", command="true"), calls("_quiet"), says("done"))
    async with playing(tmp_path, extension, steps=steps) as play:
        await play.session.prompt("go")
        results = [m for m in play.session.messages if isinstance(m, ToolResultMessage)]

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
    async with playing(tmp_path, replacing, wrapping, steps=steps) as play:
        await play.session.prompt("go")
        (result,) = [m for m in play.session.messages if isinstance(m, ToolResultMessage)]

    assert result.content[0].text == "<pretended rm -rf />"  # type: ignore[union-attr]


async def test_policies_of_extensions_stand_around_those_of_pi(tmp_path: Path) -> None:
    asked: list[str] = []

    class Noting(Policy):
        def __init__(self, name: str) -> None:
            self.name = name

        async def at_boundary(self, at: Boundary) -> Next:
            if at.kind == "turn":
                asked.append(self.name)
            return at.next

    def extension(pi: ExtensionAPI) -> None:
        pi.add_policy(Noting("last"), at="last")
        pi.add_policy(Noting("normal"))
        pi.add_policy(Noting("first"), at="first")
        pi.on("turn_end", lambda event, ctx: asked.append("event"))
        pi.add_policy(Noting("gone")).remove()

    async with playing(tmp_path, extension, steps=(says("one"),)) as play:
        await play.session.prompt("go")
        names = [type(policy).__name__ for policy in play.session._core.agent.policies]

    assert asked == ["first", "event", "normal", "last"]
    assert names[:3] == ["OwnedPolicy", "HostPolicy", "OwnedPolicy"]
    assert names[3] == "CompactionPolicy"


async def test_a_section_of_the_prompt_is_stable_and_may_fail(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_section("house", "Be kind.")
        pi.add_section("empty", lambda: None)

        def broken() -> str:
            raise ValueError("no")

        pi.add_section("broken", broken)

    async with playing(tmp_path, extension, steps=(says("one"),)) as play:
        await play.session.prompt("go")
        (system,) = [m for m in play.session.messages if isinstance(m, SystemMessage)]

    sections = system.sections or {}
    assert sections["house"] == "<house>\nBe kind.\n</house>"
    assert {"empty", "broken"}.isdisjoint(sections)


async def test_flags_shortcuts_and_views_are_registered(tmp_path: Path) -> None:
    pressed: list[str] = []
    values: list[Any] = []
    ran: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        fast = pi.flag("fast", description="be quick")
        pi.register_flag("who", type="string", default="me")

        @pi.shortcut("ctrl+x")
        async def press(ctx: Any) -> None:
            """Do it."""
            pressed.append(ctx.mode)
            values.extend([fast(), pi.get_flag("who"), pi.get_flag("nope")])

        pi.add_view("tool", "bash", "some.module:view")
        pi.register_message_renderer("x", lambda *_: None)
        pi.register_entry_renderer("x", lambda *_: None)
        pi.register_markdown_transformer(lambda text, about: text.upper())
        pi.add_input_mode("$", InputMode(label="python", run=lambda text, ctx: ran.append(text)))

    wanted = {"flags": {"fast": True}}
    async with playing(tmp_path, extension, wanted=wanted) as play:
        extensions = play.session.extensions
        assert extensions.shortcuts() == {"ctrl+x": "Do it"}
        assert await extensions.press("ctrl+x")
        assert not await extensions.press("ctrl+y")
        assert extensions.views.has("tool", "bash")
        assert extensions.views.has("message", "x")
        assert (await extensions.take("$ 1 + 1"), await extensions.take("1 + 1")) == (True, False)
        assert extensions.input_mode("$") is not None
        assert extensions.markdown("hi") == "HI"
    assert (pressed, values, ran) == (["print"], [True, "me", None], ["1 + 1"])


async def test_names_labels_models_and_levels_are_changed(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    heard: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.on("model_select", lambda event, ctx: heard.append(event.model.id))
        pi.on("thinking_level_select", lambda event, ctx: heard.append(event.level))
        pi.on("session_info_changed", lambda event, ctx: heard.append(event.name))

    async with playing(tmp_path, extension, steps=(says("one"),)) as play:
        (pi,) = apis
        await pi.set_session_name(" My work ")
        entry = await pi.append_entry("x")
        await pi.set_label(entry, "here")
        assert pi.context.model is not None
        assert await pi.set_model(pi.context.model)
        await pi.set_thinking_level("off")
        await pi.set_thinking_level("high")

        assert pi.get_session_name() == "My work"
        assert pi.context.session_manager.get_label(entry) == "here"
        assert pi.get_thinking_level() == "high"
        assert play.session.active_tools == pi.get_active_tools()
    assert heard == ["My work", "faux", "off", "high"]


async def test_extensions_offer_things_to_each_other(tmp_path: Path) -> None:
    heard: list[Any] = []
    apis: list[ExtensionAPI] = []

    def one(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.provide("stack", [1])
        pi.events.on("ping", heard.append)

        def broken(data: Any) -> None:
            raise ValueError("no")

        pi.events.on("ping", broken)

    def two(pi: ExtensionAPI) -> None:
        apis.append(pi)

    async with playing(tmp_path, one, two) as play:
        assert (apis[1].service("stack"), apis[1].service("nope")) == ([1], None)
        await apis[1].publish("ping", {"a": 1})
        await asyncio.sleep(0)

        (told,) = play.told("ExtensionEvent")
        assert (told.name, told.data) == ("ping", {"a": 1})
        assert play.failures == ["ping: no"]
    assert heard == [{"a": 1}]


async def test_the_session_may_be_replaced_when_the_agent_rests(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def leave(event: Any, ctx: Any) -> None:
            async def act(session: Any) -> None:
                await session.new_session()

            pi.when_idle(act)
            pi.when_idle(act).remove()

    steps = (calls("bash", command="true"), says("done"), says("new"))
    async with playing(tmp_path, extension, steps=steps) as play:
        before = play.session.session_id
        await play.session.prompt("go")
        await play.session.prompt("again")

        assert play.session.session_id != before


async def test_a_strategy_of_compaction_and_redactors_are_registered(tmp_path: Path) -> None:
    class Mine:
        async def compact(self, work: Any) -> Declined:
            asked.append(work.reason)
            return Declined(why="not today")

    asked: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.add_compaction("mine", Mine())
        pi.add_redactor(lambda text, sink: text.replace("secret", f"[{sink}]"))

    settings = {"compaction": {"strategy": "mine"}}
    async with playing(tmp_path, extension, settings=settings) as play:
        assert play.host.registries.redacted("a secret", "share") == "a [share]"
        with pytest.raises(CompactionFailed, match="not today"):
            await play.session.compact()
    assert asked == ["manual"]


async def test_before_there_is_a_session_nothing_can_be_asked_of_it(tmp_path: Path) -> None:
    problems: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        with pytest.raises(ExtensionError) as failed:
            pi.get_active_tools()
        problems.append(failed.value.explain())

    async with playing(tmp_path, extension):
        assert problems == [
            "There is no session yet: extensions are being loaded."
            " Do this at session_start, or later."
        ]


async def test_what_an_extension_takes_out_is_in_no_export(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_redactor(lambda text, sink: text.replace("Project X", "[hidden]"))

    async with playing(tmp_path, extension, steps=(says("Project X is fine"),)) as play:
        await play.session.prompt("how is Project X?")
        text = (await play.session.export("out.txt")).read_text()

    assert "Project X" not in text
    assert "how is [hidden]?" in text


async def test_tools_may_wait_to_be_chosen_or_stay_out_of_lists(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}

    async def run(params: Any, ctx: Any) -> str:
        return "done"

    def extension(pi: ExtensionAPI) -> None:
        for exposure in ("active", "on_demand", "hidden"):
            tool = make_tool(name=exposure, description=exposure, params=schema, run=run)
            pi.register_tool(tool, exposure=exposure)

    apis: list[ExtensionAPI] = []
    async with playing(tmp_path, extension, apis.append) as play:
        (pi,) = apis
        names = {"active", "on_demand", "hidden"}
        on = [name for name in pi.get_active_tools() if name in names]
        listed = [tool.name for tool in pi.get_all_tools() if tool.name in names]
        pi.set_active_tools(["on_demand", "hidden"])

        assert (on, listed) == (["active"], ["active", "on_demand"])
        assert play.session.active_tools == ("on_demand", "hidden")
