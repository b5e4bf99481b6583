from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.ai.transcript import fold
from pi.coding.port.results import SubSession
from pi.extension import (
    Block,
    ExtensionAPI,
    FileChange,
    FileWrite,
    FileWritten,
    PendingAction,
    Policy,
    StopRun,
    ToolApproval,
    ToolCall,
    ToolContext,
    ToolFailed,
    ToolRefused,
    ToolResult,
    ToolResultMessage,
    ToolSessionEvent,
    make_tool,
    replace,
    tool,
)
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


async def nothing(params: Any, ctx: ToolContext) -> str:
    return ""


NOTHING = {"type": "object", "properties": {}}


def results(hosted: ExtensionFixture) -> list[str]:
    messages = hosted.fixture.provider.requests[-1].messages
    return [m.content[0].text for m in messages if isinstance(m, ToolResultMessage)]  # type: ignore[union-attr]


# The session of a tool ---------------------------------------------------------------------------


async def test_a_tool_context_has_the_session_the_model_and_abort(tmp_path: Path) -> None:
    seen: list[Any] = []

    @tool
    async def look(ctx: ToolContext) -> str:
        """Look around."""
        seen.extend((ctx.session.cwd, ctx.model, ctx.session.model, ctx.session.is_idle()))
        return "seen"

    @tool
    def give_up(ctx: ToolContext) -> str:
        """Runs in a thread."""
        ctx.abort()
        return "never said"

    def extension(pi: ExtensionAPI) -> None:
        pi.register_tool(look)
        pi.register_tool(give_up)

    steps = (calls("look"), calls("give_up"), says("not reached"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        model = hosted.session.models.current
        assert seen == [hosted.fixture.cwd, model, model, False]
        assert len(hosted.fixture.provider.requests) == 2
        assert hosted.session.runs.idle


async def test_on_session_gets_session_events_until_the_tool_is_removed(
    tmp_path: Path,
) -> None:
    reasons: list[str] = []
    apis: list[ExtensionAPI] = []

    async def follow(event: ToolSessionEvent, ctx: Any) -> None:
        assert ctx.session_manager is not None
        reasons.append(event.reason)

    def extension(pi: ExtensionAPI) -> None:
        apis.append(pi)
        made = make_tool(
            name="stats",
            description="Count.",
            params=NOTHING,
            run=lambda params, ctx: "0",
            on_session=follow,
        )
        registration = pi.register_tool(made)
        pi.register_command("forget", lambda arguments, ctx: registration.remove())

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("first")
        first = next(iter(hosted.session.entries.log.branch()))
        await hosted.session.tree.go_to(first.id)
        await apis[-1].publish("todo_reminder", {"open": 2})
        await apis[-1].publish("anything else")
        await hosted.session.sessions.new()
        await hosted.session.prompt("/forget")
        await hosted.session.sessions.new()

        # The tool of the third session is another one.
        first_session = ["start", "tree", "todo_reminder", "shutdown"]
        assert reasons == [*first_session, "switch", "start", "switch", "start"]


async def test_a_failing_on_session_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    def fail(event: ToolSessionEvent, ctx: Any) -> None:
        raise RuntimeError("no state")

    def extension(pi: ExtensionAPI) -> None:
        made = make_tool(
            name="stats", description="Count.", params=NOTHING, run=nothing, on_session=fail
        )
        pi.register_tool(made)

    async with extension_session(tmp_path, extension, steps=(says("fine"),)) as hosted:
        await hosted.session.prompt("go")

        assert hosted.failures == ["on_session of stats: no state"]


async def test_a_strict_tool_is_declared_strict(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        for name, strict in (("strict", True), ("loose", False)):
            pi.register_tool(
                make_tool(name=name, description="x", params=NOTHING, run=nothing, strict=strict)
            )

    async with extension_session(tmp_path, extension, steps=(says("fine"),)) as hosted:
        await hosted.session.prompt("go")

        system, _ = fold(hosted.fixture.provider.requests[0].messages, keep_later=True)
        declared = {tool.name: tool.constrained_sampling for tool in system.tools}
        assert declared["strict"] == {"type": "json_schema", "strict": "prefer"}
        assert declared["loose"] is False


# Approval ----------------------------------------------------------------------------------------


def by_target(arguments: dict[str, Any]) -> ToolApproval:
    if arguments["target"] == "production":
        return ToolApproval(tier="exec", reason="It is production.", must_ask=True)
    return ToolApproval(tier="read")


def deploying(pi: ExtensionAPI) -> None:
    @pi.tool(
        approval=by_target,
        format_approval_details=lambda arguments: [f"Target: {arguments['target']}"],
    )
    async def deploy(target: str) -> str:
        """Deploy."""
        return f"deployed to {target}"


class ReadOnly(Policy):
    """A permission guard that does not depend on names of tools."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def before_tool(self, call: ToolCall) -> ToolCall:
        approval = self._pi.context.approval(call)
        if approval.tier != "read":
            raise ToolRefused(f"{approval.tier}: {approval.reason} {' '.join(approval.details)}")
        return call


async def test_policies_and_tool_call_handlers_get_the_approval_of_a_call(tmp_path: Path) -> None:
    events: list[tuple[str, str, bool, tuple[str, ...]]] = []

    def guarding(pi: ExtensionAPI) -> None:
        pi.add_policy(ReadOnly(pi))

        @pi.on("tool_call", at="first")
        def note(event: Any, ctx: Any) -> None:
            approval = event.approval
            events.append(
                (event.tool_name, approval.tier, approval.must_ask, tuple(approval.details))
            )

    steps = (
        calls("deploy", target="staging"),
        calls("deploy", target="production"),
        calls("bash", command="echo hello"),
        calls("write", path="a.txt", content="x"),
        calls("read", path="missing.txt"),
        says("done"),
    )
    async with extension_session(tmp_path, deploying, guarding, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert results(hosted)[:4] == [
            "deployed to staging",
            "exec: It is production. Target: production",
            "exec:  command: echo hello",
            "write:  path: a.txt",
        ]
        assert events == [
            ("deploy", "read", False, ("Target: staging",)),
            ("deploy", "exec", True, ("Target: production",)),
            ("bash", "exec", False, ("command: echo hello",)),
            ("write", "write", False, ("path: a.txt",)),
            ("read", "read", False, ("path: missing.txt",)),
        ]


@pytest.mark.parametrize(
    "approval",
    [None, lambda arguments: "harmless", lambda arguments: arguments["missing"]],
    ids=["none", "unknown", "failed"],
)
async def test_a_call_without_a_valid_approval_has_the_exec_tier(
    tmp_path: Path, approval: Any
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        made = make_tool(name="x", description="x", params=NOTHING, run=nothing)
        pi.register_tool(made if approval is None else _with(made, approval))

    async with extension_session(tmp_path, extension) as hosted:
        approved = hosted.session.tools.approval(ToolCall(id="1", name="x", arguments={}))
        unknown = hosted.session.tools.approval(ToolCall(id="1", name="y", arguments={}))

        assert (approved.tier, unknown.tier) == ("exec", "exec")
        assert approved.must_ask is (approval is not None)


def _with(made: Any, approval: Any) -> Any:
    return replace(made, approval=approval)


async def test_a_wrap_with_other_parameters_keeps_the_approval(tmp_path: Path) -> None:
    def wrapping(pi: ExtensionAPI) -> None:
        async def run(params: Any, ctx: Any, inner: Any) -> Any:
            return await inner({"target": params["target"]})

        wider = {
            "type": "object",
            "properties": {"target": {"type": "string"}, "fast": {"type": "boolean"}},
        }
        pi.wrap_tool("deploy", run, params=wider)

    steps = (calls("deploy", target="production", fast=True), says("ok"))

    def guard(pi: ExtensionAPI) -> None:
        pi.add_policy(ReadOnly(pi))

    async with extension_session(tmp_path, deploying, wrapping, guard, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert results(hosted) == ["exec: It is production. Target: production"]


# Calls of extensions -----------------------------------------------------------------------------


async def test_call_tool_passes_through_policies_wraps_and_file_layers(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    seen: list[str] = []

    def guarding(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def guard(event: Any, ctx: Any) -> Block | None:
            seen.append(f"guard {event.tool_name}")
            return Block(reason="not there") if "secret" in event.input["path"] else None

        @pi.on("tool_result")
        def note(event: Any, ctx: Any) -> None:
            seen.append(f"result {event.tool_name}")

        async def wrap(params: Any, ctx: ToolContext, inner: Any) -> Any:
            seen.append("wrap")
            return await inner(params)

        pi.wrap_tool("write", wrap)

        async def layer(change: FileChange, write: FileWrite) -> FileWritten:
            seen.append("layer")
            done = await write(change)
            return FileWritten(notes=(*done.notes, "checked"), details=done.details)

        pi.wrap_files(layer)

    async with extension_session(tmp_path, apis.append, guarding) as hosted:
        (pi,) = apis
        good = await pi.call_tool("write", {"path": "a.txt", "content": "hello"})
        refused = await pi.call_tool("write", {"path": "secret.txt", "content": "hello"})
        invalid = await pi.call_tool("write", {"path": "a.txt"})

        assert [block.text for block in good.content][-1] == "checked"  # type: ignore[union-attr]
        assert (hosted.fixture.cwd / "a.txt").read_text() == "hello"
        assert (refused.is_error, refused.content[0].text) == (True, "not there")  # type: ignore[union-attr]
        assert not (hosted.fixture.cwd / "secret.txt").exists()
        assert "content" in invalid.content[0].text  # type: ignore[union-attr]
        assert seen == ["guard write", "wrap", "layer", "result write", "guard write"]
        assert hosted.emitted("ToolExecutionStart") == []
        assert list(hosted.session.info.messages()) == []


async def test_call_tool_can_call_inactive_tools_but_not_forbidden_ones(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        made = make_tool(name="rare", description="x", params=NOTHING, run=lambda p, c: "here")
        pi.register_tool(made, exposure="hidden")
        tool_result = await pi.call_tool("rare", {})
        limit = pi.limit_tools(["read"])
        with pytest.raises(ToolFailed, match="rare is not allowed now"):
            await pi.call_tool("rare", {})
        limit.remove()
        with pytest.raises(ToolFailed, match=r"rar not found\. Did you mean rare\?"):
            await pi.call_tool("rar", {})

        assert tool_result == ToolResult.of("here")
        assert "rare" not in hosted.session.active_tools


async def test_a_stop_run_of_a_guard_is_raised_to_the_caller(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []

    class Budget(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            raise StopRun("The budget is spent.")

    def guarding(pi: ExtensionAPI) -> None:
        pi.add_policy(Budget())

    async with extension_session(tmp_path, apis.append, guarding):
        with pytest.raises(StopRun, match="budget"):
            await apis[0].call_tool("read", {"path": "a"})


async def test_recursive_tool_calls_of_a_handler_are_limited(tmp_path: Path) -> None:
    depth: list[str] = []
    answers: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        async def again(event: Any, ctx: Any) -> None:
            depth.append(event.tool_call_id)
            result = await pi.call_tool("read", {"path": "a"})
            answers.append(result.content[0].text)  # type: ignore[union-attr]

    steps = (calls("read", path="a"), says("ok"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert len(depth) == 9
        assert "inside 8 other calls" in answers[0]
        assert "ENOENT" in results(hosted)[0]


async def test_cancelling_the_caller_cancels_the_tool_and_updates_arrive(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    began, ended = asyncio.Event(), asyncio.Event()
    updates: list[str] = []

    @tool
    async def wait(ctx: ToolContext) -> str:
        """Wait."""
        ctx.update(ToolResult.of("half"))
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with extension_session(tmp_path, apis.append):
        (pi,) = apis
        pi.register_tool(wait)
        call = asyncio.ensure_future(
            pi.call_tool("wait", {}, update=lambda r: updates.append(r.content[0].text))  # type: ignore[union-attr]
        )
        await began.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert ended.is_set()
        assert updates == ["half"]


async def test_guards_of_the_parent_hold_for_calls_in_a_nested_session(tmp_path: Path) -> None:
    seen: list[str] = []

    def guarding(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def guard(event: Any, ctx: Any) -> Block:
            seen.append(event.tool_name)
            return Block(reason="the parent forbids it")

    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, guarding, steps=(says("ok"),)) as hosted:
        nested = await hosted.session.open_nested(SubSession(prompt="go"))
        result = await nested.tools.call("read", {"path": "a"}, caller="test")
        await nested.close()

        assert seen == ["read"]
        assert result.content[0].text == "the parent forbids it"  # type: ignore[union-attr]


async def test_a_pending_action_can_be_withdrawn(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append) as hosted:
        (pi,) = apis
        end = pi.pending_actions.add_resolver()
        pushed = pi.push_pending_action(PendingAction(label="x", apply=str))
        assert hosted.host.pending_actions.has_pending
        pushed.remove()
        end()

        assert not hosted.host.pending_actions.has_pending
