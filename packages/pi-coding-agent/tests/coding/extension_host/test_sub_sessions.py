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
from tests.coding.extension_host.extension_session import extension_session


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
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
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
        assert hosted.session.messages == []
        first = hosted.fixture.provider.requests[0].messages[0]
        assert first.sections == {"preamble": "You look for things."}  # type: ignore[union-attr]
    assert story == ["asked", "wrote a", "asked", "asked"]


async def test_a_file_layer_with_nested_false_ignores_writes_of_nested_sessions(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    story: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        depth = len(apis) - 1

        async def layer(change: FileChange, write: FileWrite) -> FileWritten:
            story.append(f"layer of session {depth} wrote {change.path.name}")
            return await write(change)

        pi.wrap_files(layer, nested=False)

    steps = (
        *(calls("write", path="a", content="x"), says("done")),
        *(calls("write", path="b", content="x"), says("done")),
    )
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await (await apis[0].sub_session(SubSession(prompt="go", extensions="all"))).result()
        await hosted.session.prompt("go")

    assert story == ["layer of session 1 wrote a", "layer of session 0 wrote b"]


async def test_several_nested_sessions_run_concurrently_and_can_be_aborted(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def answer(call: Call) -> Reply:
        return says(f"about {call.messages[-1].content[0].text}")  # type: ignore[union-attr]

    async with extension_session(tmp_path, apis.append, steps=(answer,)):
        (pi,) = apis
        handles = [await pi.sub_session(SubSession(prompt=name)) for name in ("a", "b")]
        await handles[1].abort()
        answers = [await handle.result() for handle in handles]

    assert answers[0] is not None
    assert answers[0].content == (Text(text="about a"),)


async def test_a_nested_session_that_takes_too_long_is_aborted(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    steps = (calls("bash", command="sleep 60"), says("never"))

    async with extension_session(tmp_path, apis.append, steps=steps) as hosted:
        begun = asyncio.Event()
        handle = await apis[0].sub_session(SubSession(prompt="go", seconds=5))
        handle.events(
            lambda event: begun.set() if type(event).__name__ == "ToolExecutionStart" else None
        )
        await begun.wait()
        await hosted.fixture.clock.advance(6)
        answer = await handle.result()

    assert answer is not None
    assert answer.stop_reason == "error"


async def test_a_nested_session_ends_with_its_parent(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    steps = (calls("bash", command="sleep 60"), says("never"))

    async with extension_session(tmp_path, apis.append, steps=steps) as hosted:
        handle = await apis[0].sub_session(SubSession(prompt="go"))
        await asyncio.sleep(0)
        await hosted.session.new_session()

        with pytest.raises(asyncio.CancelledError):
            await handle.result()


@pytest.mark.parametrize("limit", [{"turns": 2}, {"cost": 0.015}])
async def test_a_nested_session_ends_at_its_turn_or_cost_limit(
    tmp_path: Path, limit: dict[str, Any]
) -> None:
    apis: list[ExtensionAPI] = []
    dear = ModelCost(input=1000)

    async with extension_session(
        tmp_path, apis.append, steps=(calls("bash", command="true"),) * 50
    ) as hosted:
        model = replace(FAUX_MODEL, cost=dear)
        spec = SubSession(prompt="go on and on", model=model, **limit)
        answer = await (await apis[0].sub_session(spec)).result()

        assert answer is not None
        assert answer.stop_reason in ("aborted", "error")
        assert 2 <= len(hosted.fixture.provider.requests) < 50


async def test_a_nested_session_within_its_limits_runs_to_its_end(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("four"),)) as hosted:
        spec = SubSession(prompt="2 + 2?", turns=5, cost=1.0, seconds=60)
        answer = await (await apis[0].sub_session(spec)).result()

        assert answer is not None
        assert answer.text == "four"
        assert hosted.fixture.clock.sleeping == 0


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
    async with extension_session(tmp_path, caller, counting, steps=steps):
        spec = SubSession(prompt="go", extensions=extensions)
        answer = await (await apis[0].sub_session(spec)).result()

    assert answer is not None
    assert answer.text == "done"
    happened = ("begun", "asked", "called", "asked")
    assert story == [step for step in happened for _ in range(times)]


async def test_an_unknown_extension_cannot_be_requested(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    def caller(pi: ExtensionAPI) -> None:
        apis.append(pi)

    async with extension_session(tmp_path, caller):
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
    async with extension_session(tmp_path, helping, guard, steps=steps) as hosted:
        await (
            await apis[0].sub_session(SubSession(prompt="outer", extensions=("helping",)))
        ).result()
        request = hosted.fixture.provider.requests[-1]

    assert "not here" in str(request.messages[-1])


@pytest.mark.behaviour("sub-agent-rights-are-bounded")
async def test_a_nested_session_has_no_tools_that_the_user_excluded(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    tools = ToolFilter(only=("read", "bash"), without=("bash",))

    async with extension_session(tmp_path, apis.append, steps=(says("a"),), tools=tools) as hosted:
        handle = await apis[0].sub_session(SubSession(prompt="go", tools=("read", "bash", "write")))
        await handle.result()
        declared, _ = fold(hosted.fixture.provider.requests[0].messages, keep_later=False)

    assert [tool.name for tool in declared.tools] == ["read"]


async def test_policies_of_a_session_get_tool_calls_of_nested_sessions_but_not_requests(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    story: list[str] = []

    class Watchful(Policy):
        def __init__(self, at: str) -> None:
            self._at = at

        async def before_request(self, request: Request) -> Request:
            story.append("request")
            return request

        async def before_tool(self, call: ToolCall) -> ToolCall:
            story.append(f"{self._at} {call.name}")
            if self._at == "normal" and call.name == "bash":
                raise ToolRefused("not here")
            return call

        async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
            story.append(f"after {call.name}")
            return replace(result, content=(*result.content, Text(text=f"seen by {self._at}")))

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.add_policy(Watchful("last"), at="last")
        pi.add_policy(Watchful("normal"))

    steps = (calls("bash", command="true"), calls("read", path="a"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        (hosted.fixture.cwd / "a").write_text("text")
        await (await apis[0].sub_session(SubSession(prompt="go"))).result()
        refused, read = (request.messages[-1] for request in hosted.fixture.provider.requests[1:])

    assert story == ["normal bash", "normal read", "last read", "after read", "after read"]
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
    async with extension_session(
        tmp_path, apis.append, steps=(says("done"),), extension_options=paths
    ) as hosted:
        await (await apis[0].sub_session(SubSession(prompt="go"))).result()
        (request,) = hosted.fixture.provider.requests

    assert ("It is here." in str(request.messages)) is is_declared


async def test_the_long_outputs_of_a_nested_session_are_kept_with_those_of_its_parent(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    steps = (calls("bash", command="seq 1 100000"), says("done"))
    async with extension_session(tmp_path, apis.append, steps=steps) as hosted:
        pi = apis[0]
        assert pi.context.artifacts.save("mine", "first") == "0"
        await (await pi.sub_session(SubSession(prompt="go"))).result()
        reported = str(hosted.fixture.provider.requests[1].messages[-1])

        assert pi.context.artifacts.numbers() == [0, 1]
        assert (pi.context.artifacts.read(1) or "").endswith("99999\n100000\n")
        assert "'artifactId': '1'" in reported


async def test_cancelling_the_caller_aborts_the_nested_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    begun = asyncio.Event()

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        @pi.tool
        async def task() -> str:
            """Ask a helper."""
            handle = await pi.sub_session(SubSession(prompt="wait"))
            handle.events(
                lambda event: begun.set() if type(event).__name__ == "ToolExecutionStart" else None
            )
            await handle.result()
            return "never"

    steps = (calls("task"), calls("bash", command="sleep 60"), says("never"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await begun.wait()
        await hosted.session.abort()  # Escape
        await run

        assert len(hosted.fixture.provider.requests) == 2


async def test_a_background_session_continues_when_the_caller_is_cancelled(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    requested, go_on = asyncio.Event(), asyncio.Event()

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        async def hold(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
            requested.set()
            await go_on.wait()
            async for event in ask(request):
                yield event

        pi.wrap_model(hold)

    async with extension_session(tmp_path, extension, steps=(says("done"),)):
        handle = await apis[0].sub_session(SubSession(prompt="go", background=True))
        waiting = asyncio.ensure_future(handle.result())
        await requested.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        go_on.set()
        answer = await handle.result()

        assert answer is not None
        assert answer.text == "done"


async def test_a_kept_session_accepts_further_prompts_until_it_is_closed(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("one"), says("two"))) as hosted:
        handle = await apis[0].sub_session(SubSession(prompt="first", keep=True))
        await handle.result()
        await handle.steer("and more")
        answer = await handle.prompt("second")
        await handle.close()

        assert answer is not None
        assert answer.text == "two"
        conversation = str(hosted.fixture.provider.requests[1].messages)
        assert conversation.index("first") < conversation.index("second")
        assert "and more" in conversation
        assert [type(message).__name__ for message in handle.messages].count("UserMessage") == 3
        assert handle.usage.input == 20
        with pytest.raises(ExtensionError, match="Cannot prompt it: the nested session is closed"):
            await handle.prompt("third")


async def test_a_kept_session_without_a_prompt_waits_for_one(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        handle = await apis[0].sub_session(SubSession(keep=True))
        nothing = await handle.result()
        answer = await handle.prompt("now")

        assert nothing is None
        assert answer is not None
        assert len(hosted.fixture.provider.requests) == 1
        with pytest.raises(ExtensionError, match="has no prompt"):
            await apis[0].sub_session(SubSession())


async def test_a_second_prompt_is_refused_during_a_run(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        handle = await apis[0].sub_session(SubSession(prompt="first", keep=True))
        await asyncio.sleep(0)
        with pytest.raises(ExtensionError, match="already running"):
            await handle.prompt("second")
        await handle.result()

        assert hosted.failures == []


async def test_steering_a_session_that_has_ended_is_an_error(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("one"),)):
        handle = await apis[0].sub_session(SubSession(prompt="go"))
        await handle.result()

        with pytest.raises(ExtensionError, match="closed") as caught:
            await handle.steer("more")
        assert "keep=True" in caught.value.hint


async def test_a_nested_session_in_a_file_is_continued_from_it(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    file = tmp_path / "agents" / "one.jsonl"
    async with extension_session(tmp_path, apis.append, steps=(says("one"), says("two"))) as hosted:
        first = await apis[0].sub_session(SubSession(prompt="first", file=file))
        await first.result()
        second = await apis[0].sub_session(SubSession(prompt="second", file=file))
        await second.result()

        assert (first.file, second.file) == (file, file)
        assert "first" in str(hosted.fixture.provider.requests[1].messages)
        assert f'"parentSession":"{hosted.session.session_file}"' in file.read_text()


async def test_append_system_extends_the_default_or_custom_system_prompt(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        spec = SubSession(prompt="go", append_system="You are a reviewer.")
        await (await apis[0].sub_session(spec)).result()
        replacing = SubSession(prompt="go", system="Be brief.", append_system="You review.")
        await (await apis[0].sub_session(replacing)).result()
        usual, replaced = (
            str(request.messages[0].sections)  # type: ignore[union-attr]
            for request in hosted.fixture.provider.requests
        )

        assert "You are a reviewer." in usual
        assert "preamble" in usual
        assert replaced == str({"preamble": "Be brief.\n\nYou review."})


async def test_policies_passed_to_a_nested_session_apply_only_to_it(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    story: list[str] = []

    class Counting(Policy):
        async def before_request(self, request: Request) -> Request:
            story.append("request")
            return request

        async def before_tool(self, call: ToolCall) -> ToolCall:
            raise ToolRefused("not for helpers")

    steps = (calls("bash", command="true"), says("done"), says("own"))
    async with extension_session(tmp_path, apis.append, steps=steps) as hosted:
        spec = SubSession(prompt="go", policies=(Counting(),))
        await (await apis[0].sub_session(spec)).result()
        await hosted.session.prompt("hello")

        assert story == ["request", "request"]
        assert "not for helpers" in str(hosted.fixture.provider.requests[1].messages)


@pytest.mark.parametrize(
    ("options", "level"),
    [
        ({"model": "faux/faux:low"}, "low"),
        ({"model": "faux/faux"}, "high"),
        ({"model": "faux/faux:low", "thinking": "medium"}, "medium"),
        ({}, "high"),
    ],
)
async def test_the_thinking_level_of_a_pattern_wins_over_that_of_the_parent(
    tmp_path: Path, options: dict[str, Any], level: str
) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(
        tmp_path, apis.append, steps=(says("one"),), thinking="high"
    ) as hosted:
        await (await apis[0].sub_session(SubSession(prompt="go", **options))).result()

        assert hosted.fixture.provider.requests[0].options.reasoning == level


async def test_the_context_has_the_nesting_depth_of_its_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    depths: list[int] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        pi.on("session_start", lambda event, ctx: depths.append(ctx.depth))

    async with extension_session(tmp_path, extension, steps=(says("one"),)):
        await (await apis[0].sub_session(SubSession(prompt="go", extensions="all"))).result()

    assert depths == [0, 1]


def test_the_events_of_a_nested_session_are_exported() -> None:
    from pi.agent import events as agent_events

    assert agent_events.TurnEnd.__struct_config__.tag == "turn_end"


async def test_the_usage_of_a_nested_session_includes_extensions_and_summaries(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)

        @pi.command("extra")
        async def extra(args: str, ctx: Any) -> None:
            await pi.models.complete("one more question")

    steps = (says("a " * 3000), says("b " * 3000), says("extra"), says("summary"), says("summary"))
    settings = {"compaction": {"keepRecentTokens": 100}}
    async with extension_session(tmp_path, extension, steps=steps, settings=settings) as hosted:
        spec = SubSession(prompt="first", keep=True, extensions="all")
        handle = await apis[0].sub_session(spec)
        await handle.result()
        await handle.prompt("second")
        await handle.prompt("/extra")
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        apis[1].context.compact(on_complete=done.set_result, on_error=done.set_exception)
        await done

        assert handle.usage.input == 10 * len(hosted.fixture.provider.requests)
        assert len(hosted.fixture.provider.requests) >= 4


async def test_tools_that_are_passed_need_not_be_selected_by_the_user(tmp_path: Path) -> None:
    from pi.agent.tools.define import tool

    @tool
    def submit() -> str:
        """Nothing."""
        return "done"

    apis: list[ExtensionAPI] = []
    tools = ToolFilter(only=("read", "bash"))
    async with extension_session(tmp_path, apis.append, steps=(says("a"),), tools=tools) as hosted:
        spec = SubSession(prompt="go", tools=("read", "write"), custom_tools=(submit,))
        await (await apis[0].sub_session(spec)).result()
        declared, _ = fold(hosted.fixture.provider.requests[0].messages, keep_later=False)

    assert sorted(tool.name for tool in declared.tools) == ["read", "submit"]
