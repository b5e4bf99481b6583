from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.policy import Boundary, Interrupt, Next, Partial, Policy, Request, StopRun
from pi.agent.tools.tool import ToolResult
from pi.ai.events import Delta
from pi.ai.messages import AssistantMessage, ToolCall, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.coding.bus import Owner
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.tools import GuardedPolicy, GuardedWatcher, guard_policy
from tests.coding.extension_host.extension_session import extension_session


class Broken(Policy):
    """Fails in every hook."""

    async def before_request(self, request: Request) -> Request:
        raise ValueError("1")

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        raise ValueError("2")

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        raise ValueError("3")

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        raise ValueError("4")

    async def at_boundary(self, boundary: Boundary) -> Next:
        raise ValueError("5")


async def test_a_failing_policy_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_policy(Broken())

    steps = (calls("bash", command="echo hi"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        answer = await hosted.session.prompt("go")

        assert answer is not None
        assert answer.text == "done"
    assert set(hosted.failures) == {
        "at_boundary: 5",
        "before_request: 1",
        "on_delta: 2",
        "after_answer: 3",
        "after_tool: 4",
    }
    paths = {failed.extension_path for failed in hosted.emitted("ExtensionFailed")}
    assert paths == {"<inline:1:extension>"}


async def test_a_failing_guard_refuses_the_call(tmp_path: Path) -> None:
    class Guard(Policy):
        async def before_tool(self, call: ToolCall) -> ToolCall:
            raise ValueError("not sure")

    def extension(pi: ExtensionAPI) -> None:
        pi.add_policy(Guard())

    steps = (calls("bash", command="echo hi"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

        (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert (result.is_error, result.content[0].text) == (True, "not sure")  # type: ignore[union-attr]


def test_only_policies_with_on_delta_get_deltas() -> None:
    class Quiet(Policy):
        pass

    owner = Owner(name="me", path="/me.py")
    quiet, loud = (guard_policy(policy, owner, lambda *_: None) for policy in (Quiet(), Broken()))

    assert (type(quiet), type(loud)) == (GuardedPolicy, GuardedWatcher)
    assert type(quiet).on_delta is Policy.on_delta


@pytest.mark.parametrize("decision", [Interrupt("cut"), StopRun("stop")])
def test_control_exceptions_are_not_failures(decision: Exception) -> None:
    class Decides(Policy):
        def on_delta(self, delta: Delta, answer: Partial) -> None:
            raise decision

    failures: list[object] = []
    owner = Owner(name="me", path="/me.py")
    policy = guard_policy(Decides(), owner, lambda *failed: failures.append(failed))

    with pytest.raises(type(decision)):
        policy.on_delta(None, AssistantMessage)  # type: ignore[arg-type]
    assert failures == []
    assert getattr(decision, "by", "Decides") == "Decides"
