from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pi.agent.policy import Policy, Request, ToolRefused
from pi.agent.tools.tool import ToolResult
from pi.ai.events import StreamEvent
from pi.ai.messages import Text, ToolCall, ToolResultMessage
from pi.ai.models.model import ModelCost
from pi.ai.providers.faux import FAUX_MODEL, Reply, calls, says
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.model_wraps import ModelRequest
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.files.layers import FileChange, FileWrite, FileWritten
from pi.coding.port.results import SubSession
from pi.coding.runtime.options import ToolFilter
from tests.coding.extension_host.stage import playing


async def test_a_nested_session_has_the_wraps_layers_and_guards_of_its_parent(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    story: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        async def note(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
            story.append("asked")
            async for event in ask(request):
                yield event

        async def layer(change: FileChange, write: FileWrite) -> FileWritten:
            story.append(f"wrote {change.path.name}")
            return await write(change)

        pi.wrap_model(note)
        pi.wrap_files(layer)

        @pi.on("tool_call")
        def guard(event: Any, ctx: Any) -> Any:
            return {"block": True, "reason": "no"} if event.tool_name == "bash" else None

    steps = (
        calls("write", path="a", content="x"),
        calls("bash", command="true"),
        says("found it"),
    )
    async with playing(tmp_path, extension, steps=steps) as play:
        spec = SubSession(prompt="look", tools=("write", "bash"), system="You look for things.")
        handle = await apis[0].sub_session(spec)
        events: list[Any] = []
        end = handle.events(events.append)
        answer = await handle.result()
        end()

        assert answer is not None
        assert answer.content == (Text(text="found it"),)
        results = [
            event.message
            for event in events
            if type(event).__name__ == "MessageEnd" and isinstance(event.message, ToolResultMessage)
        ]
        assert [result.content[0].text for result in results][1] == "no"  # type: ignore[union-attr]
        assert play.session.messages == []
        first = play.stage.provider.requests[0].messages[0]
        assert first.sections == {"preamble": "You look for things."}  # type: ignore[union-attr]
    assert story == ["asked", "wrote a", "asked", "asked"]


async def test_several_work_side_by_side_and_can_be_aborted(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def answer(call: Call) -> Reply:
        return says(f"about {call.messages[-1].content[0].text}")  # type: ignore[union-attr]

    async with playing(tmp_path, apis.append, steps=(answer,)):
        (pi,) = apis
        handles = [await pi.sub_session(SubSession(prompt=name)) for name in ("a", "b")]
        await handles[1].abort()
        answers = [await handle.result() for handle in handles]

    assert answers[0] is not None
    assert answers[0].content == (Text(text="about a"),)


async def test_a_nested_session_that_takes_too_long_is_aborted(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    steps = (calls("bash", command="sleep 60"), says("never"))

    async with playing(tmp_path, apis.append, steps=steps) as play:
        begun = asyncio.Event()
        handle = await apis[0].sub_session(SubSession(prompt="go", seconds=5))
        handle.events(
            lambda event: begun.set() if type(event).__name__ == "ToolExecutionStart" else None
        )
        await begun.wait()
        await play.stage.clock.advance(6)
        answer = await handle.result()

    assert answer is not None
    assert answer.stop_reason == "error"


async def test_it_ends_with_the_session_that_began_it(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    steps = (calls("bash", command="sleep 60"), says("never"))

    async with playing(tmp_path, apis.append, steps=steps) as play:
        handle = await apis[0].sub_session(SubSession(prompt="go"))
        await asyncio.sleep(0)
        await play.session.new_session()

        with pytest.raises(asyncio.CancelledError):
            await handle.result()


@pytest.mark.parametrize("limit", [{"turns": 2}, {"cost": 0.015}])
async def test_a_nested_session_ends_at_its_turn_or_cost_limit(
    tmp_path: Path, limit: dict[str, Any]
) -> None:
    apis: list[ExtensionAPI] = []
    dear = ModelCost(input=1000)

    async with playing(tmp_path, apis.append, steps=(calls("bash", command="true"),) * 50) as play:
        model = replace(FAUX_MODEL, cost=dear)
        spec = SubSession(prompt="go on and on", model=model, **limit)
        answer = await (await apis[0].sub_session(spec)).result()

        assert answer is not None
        assert answer.stop_reason in ("aborted", "error")
        assert 2 <= len(play.stage.provider.requests) < 50


async def test_a_nested_session_within_its_limits_runs_to_its_end(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    async with playing(tmp_path, apis.append, steps=(says("four"),)) as play:
        spec = SubSession(prompt="2 + 2?", turns=5, cost=1.0, seconds=60)
        answer = await (await apis[0].sub_session(spec)).result()

        assert answer is not None
        assert answer.text == "four"
        assert play.stage.clock.sleeping == 0


@pytest.mark.parametrize(
    ("extensions", "times"), [("guards", 1), ("all", 2), (("counting",), 2), (("caller",), 1)]
)
async def test_a_nested_session_loads_the_requested_extensions_and_keeps_all_guards(
    tmp_path: Path, extensions: Any, times: int
) -> None:
    apis: list[ExtensionAPI] = []
    story: list[str] = []

    def caller(pi: ExtensionAPI) -> None:
        apis.append(pi)

    def counting(pi: ExtensionAPI) -> None:
        async def note(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
            story.append("asked")
            async for event in ask(request):
                yield event

        pi.wrap_model(note)
        pi.on("session_start", lambda event, ctx: story.append("begun"))
        pi.on("tool_call", lambda event, ctx: story.append("called"))

    steps = (calls("bash", command="true"), says("done"))
    async with playing(tmp_path, caller, counting, steps=steps):
        spec = SubSession(prompt="go", extensions=extensions)
        answer = await (await apis[0].sub_session(spec)).result()

    assert answer is not None
    assert answer.text == "done"
    happened = ("begun", "asked", "called", "asked")
    assert story == [each for each in happened for _ in range(times)]


async def test_an_unknown_extension_cannot_be_requested(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def caller(pi: ExtensionAPI) -> None:
        apis.append(pi)

    async with playing(tmp_path, caller):
        with pytest.raises(ExtensionError, match="Unknown extension 'other'") as caught:
            await apis[0].sub_session(SubSession(prompt="go", extensions=("other",)))

    assert caught.value.hint == "Extensions of this session: caller."


async def test_guards_of_a_session_apply_to_sessions_nested_twice(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    def helping(pi: ExtensionAPI) -> None:
        apis.append(pi)

        @pi.on("agent_before_settle")
        async def ask(event: Any, ctx: Any) -> None:
            await (await pi.sub_session(SubSession(prompt="inner"))).result()

    def guard(pi: ExtensionAPI) -> None:
        pi.on("tool_call", lambda event, ctx: {"block": True, "reason": "not here"})

    steps = (says("first"), calls("bash", command="true"), says("second"))
    async with playing(tmp_path, helping, guard, steps=steps) as play:
        await (
            await apis[0].sub_session(SubSession(prompt="outer", extensions=("helping",)))
        ).result()
        request = play.stage.provider.requests[-1]

    assert "not here" in str(request.messages[-1])


@pytest.mark.behaviour("sub-agent-rights-are-bounded")
async def test_a_nested_session_has_no_tools_that_the_user_excluded(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    tools = ToolFilter(only=("read", "bash"), without=("bash",))

    async with playing(tmp_path, apis.append, steps=(says("a"),), tools=tools) as play:
        handle = await apis[0].sub_session(SubSession(prompt="go", tools=("read", "bash", "write")))
        await handle.result()
        declared, _ = fold(play.stage.provider.requests[0].messages, keep_later=False)

    assert [tool.name for tool in declared.tools] == ["read"]


async def test_the_policies_of_a_session_guard_those_that_work_for_it_and_shape_nothing_else(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    asked: list[str] = []

    class Watchful(Policy):
        def __init__(self, at: str) -> None:
            self._at = at

        async def before_request(self, request: Request) -> Request:
            asked.append("request")
            return request

        async def before_tool(self, call: ToolCall) -> ToolCall:
            asked.append(f"{self._at} {call.name}")
            if self._at == "normal" and call.name == "bash":
                raise ToolRefused("not here")
            return call

        async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
            asked.append(f"after {call.name}")
            return replace(result, content=(*result.content, Text(text=f"seen by {self._at}")))

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.add_policy(Watchful("last"), at="last")
        pi.add_policy(Watchful("normal"))

    steps = (calls("bash", command="true"), calls("read", path="a"), says("done"))
    async with playing(tmp_path, extension, steps=steps) as play:
        (play.stage.cwd / "a").write_text("text")
        await (await apis[0].sub_session(SubSession(prompt="go"))).result()
        refused, read = (request.messages[-1] for request in play.stage.provider.requests[1:])

    assert asked == ["normal bash", "normal read", "last read", "after read", "after read"]
    assert "not here" in str(refused)
    assert [part.text for part in read.content][1:] == [  # type: ignore[union-attr]
        "seen by normal",
        "seen by last",
    ]


@pytest.mark.parametrize("is_declared", [False, True])
async def test_an_extension_for_sub_sessions_is_loaded_in_every_nested_session(
    tmp_path: Path, is_declared: bool
) -> None:
    apis: list[ExtensionAPI] = []
    path = tmp_path / "present.py"
    path.write_text(
        f"# /// pi\n# sub_sessions = {str(is_declared).lower()}\n# ///\n"
        "def extension(pi):\n"
        "    pi.add_section('present', 'It is here.')\n"
    )
    paths = {"paths": (str(path),)}
    async with playing(
        tmp_path, apis.append, steps=(says("done"),), extension_options=paths
    ) as play:
        await (await apis[0].sub_session(SubSession(prompt="go"))).result()
        (request,) = play.stage.provider.requests

    assert ("It is here." in str(request.messages)) is is_declared


async def test_the_long_outputs_of_a_nested_session_are_kept_with_those_of_its_parent(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    steps = (calls("bash", command="seq 1 100000"), says("done"))
    async with playing(tmp_path, apis.append, steps=steps) as play:
        pi = apis[0]
        assert pi.context.artifacts.save("mine", "first") == "0"
        await (await pi.sub_session(SubSession(prompt="go"))).result()
        reported = str(play.stage.provider.requests[1].messages[-1])

        assert pi.context.artifacts.numbers() == [0, 1]
        assert (pi.context.artifacts.read(1) or "").endswith("99999\n100000\n")
        assert "'artifactId': '1'" in reported
