"""Escape, background agents, ``hub``, resuming: which agents end, and how it is reported."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.agent.events import AgentSettled
from pi.ai.providers.faux import calls, says
from pi.batteries.subagents.adapter import SubAgents
from tests.base.processes.children import needs_posix_shell
from tests.batteries.subagents.agent_session import (
    Gate,
    Script,
    agent_session,
    reports,
    results,
    text,
)


async def until(agents: SubAgents, happened: Any) -> None:
    """Wait for a change of the agents."""
    changed = asyncio.Event()
    end = agents.tree.on_change(changed.set)
    while not happened():
        changed.clear()
        await changed.wait()
    end()


# Escape -------------------------------------------------------------------------------------------


@needs_posix_shell
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_escape_cancels_all_requests_and_processes_of_agents(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = Script(
        main=[calls("task", tasks=[{"task": "x", "name": "a"}, {"task": "y", "name": "b"}])],
        a=[calls("task", task="z", name="c")],
        a__c=[calls("bash", command=f"echo $$ > {pid}; sleep 600")],
        b=[calls("bash", command="sleep 600")],
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await until(
            agents,
            lambda: sum(node.activity.startswith("bash") for node in agents.tree.all()) == 2,
        )
        while not pid.exists() or not pid.read_text().strip():  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # the shell writes it
        count = len(hosted.fixture.provider.requests)
        await hosted.session.abort()
        await run

        assert [node.state for node in agents.tree.all()] == ["cancelled"] * 3
        assert len(hosted.fixture.provider.requests) == count
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        assert agents.tree.slots._used == 0


async def test_escape_ends_background_agents_too(tmp_path: Path) -> None:
    gate = Gate()
    script = Script(
        main=[
            calls("task", task="x", name="a", background=True),
            calls("bash", command="sleep 600"),
        ]
    )
    async with agent_session(tmp_path, script, gate.extension, mode="rpc") as (hosted, agents):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await gate.until(1)
        await hosted.session.abort()
        await run
        await agents.tree.get("a").wait()  # type: ignore[union-attr]

        assert agents.tree.get("a").state == "cancelled"  # type: ignore[union-attr]
        assert gate.waiting == 0
        assert not hosted.session.runs.idle or script.requests["a"] == []


async def test_an_abort_while_idle_cancels_background_agents(tmp_path: Path) -> None:
    """As sent by clients of RPC and the SDK, and by Escape."""
    gate, seen = Gate(), list[bool]()

    def watching(pi: Any) -> None:
        pi.on("session_abort", lambda event, ctx: seen.append(event.was_idle))

    script = Script(main=[calls("task", task="x", name="a", background=True), says("started")])
    async with agent_session(tmp_path, script, gate.extension, watching, mode="rpc") as (
        hosted,
        agents,
    ):
        await hosted.session.prompt("go")
        await gate.until(1)
        count = len(hosted.fixture.provider.requests)
        await hosted.session.abort()

        assert agents.tree.get("a").state == "cancelled"  # type: ignore[union-attr]
        assert (gate.waiting, seen) == (0, [True])
        await hosted.session.wait_for_idle()
        assert len(hosted.fixture.provider.requests) == count  # its report starts no run


@pytest.mark.behaviour("sub-agent-always-settles")
async def test_a_task_call_fails_when_the_session_of_its_agent_is_closed(tmp_path: Path) -> None:
    gate = Gate()
    script = Script(main=[calls("task", task="x", name="a"), says("I see")])
    async with agent_session(tmp_path, script, gate.extension) as (hosted, agents):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await gate.until(1)
        await agents.tree.get("a").runner.close()  # type: ignore[union-attr]
        await run

        assert agents.tree.get("a").state == "failed"  # type: ignore[union-attr]
        assert results(hosted)[0].is_error
        assert "I see" in str(hosted.session.messages[-1])


async def test_a_task_call_returns_the_error_of_a_failing_request_of_its_agent(
    tmp_path: Path,
) -> None:
    from pi.ai.providers.faux import Reply

    script = Script(
        main=[calls("task", task="x", name="a"), says("I see")],
        a=[Reply(error="the model is gone")] * 20,
    )
    settings = {"retry": {"enabled": False}}
    async with agent_session(tmp_path, script, settings=settings) as (hosted, _):
        await hosted.session.prompt("go")

        assert "the model is gone" in text(results(hosted)[0])


async def test_a_new_session_ends_all_agents(tmp_path: Path) -> None:
    gate = Gate()
    script = Script(main=[calls("task", task="x", name="a", background=True), says("started")])
    async with agent_session(tmp_path, script, gate.extension, mode="rpc") as (hosted, agents):
        await hosted.session.prompt("go")
        await gate.until(1)
        await hosted.session.new_session()

        assert agents.tree.get("a").state == "cancelled"  # type: ignore[union-attr]
        assert gate.waiting == 0


# Background agents --------------------------------------------------------------------------------


async def test_a_background_agent_returns_at_once_and_reports_later(tmp_path: Path) -> None:
    gate, settled = Gate(), asyncio.Event()
    script = Script(
        main=[calls("task", task="x", name="a", background=True), says("waiting"), says("I see")]
    )
    async with agent_session(tmp_path, script, gate.extension, mode="rpc") as (hosted, _):
        await hosted.session.prompt("go")
        [result] = results(hosted)
        hosted.session.subscribe(lambda e: settled.set() if isinstance(e, AgentSettled) else None)
        gate.open.set()
        await settled.wait()

        assert "started in the background" in text(result)
        [report] = reports(hosted)
        assert str(report.content) == "## a (task): completed\n\nby a"
        assert "I see" in str(hosted.session.messages[-1])


@pytest.mark.parametrize("mode", ["print", "json"])
async def test_print_mode_waits_for_background_agents(tmp_path: Path, mode: Any) -> None:
    gate = Gate()
    tasks = [{"task": str(n), "name": f"a{n}", "background": True} for n in range(3)]

    def waiting(call: Any) -> Any:
        gate.open.set()
        return says("waiting")

    script = Script(main=[calls("task", tasks=tasks), waiting])
    async with agent_session(tmp_path, script, gate.extension, mode=mode) as (hosted, agents):
        await hosted.session.prompt("go")

        assert [node.state for node in agents.tree.all()] == ["completed"] * 3
        assert len(reports(hosted)) == 3
        assert "done" in str(hosted.session.messages[-1])
        assert len(hosted.emitted("AgentSettled")) == 1


# The hub ------------------------------------------------------------------------------------------


async def test_the_hub_lists_steers_waits_and_cancels(tmp_path: Path) -> None:
    gate = Gate()

    def release(call: Any) -> Any:
        gate.open.set()
        return calls("hub", action="wait")

    tasks = [{"task": f"do {n}", "name": n, "background": True} for n in "ab"]
    script = Script(
        main=[
            calls("task", tasks=tasks),
            calls("hub", action="list"),
            calls("hub", action="wait", timeout=0.01),
            calls("hub", action="cancel", agent="b"),
            calls("hub", action="send", agent="A", message="and hurry"),
            release,
            calls("hub", action="wait"),
            calls("hub", action="cancel", agent="zzz"),
        ],
        a=[says("thinking"), calls("yield", data="fast")],
    )
    async with agent_session(tmp_path, script, gate.extension) as (hosted, _):
        await hosted.session.prompt("go")
        found = results(hosted)
        _, listed, early, cancelled, sent, waited, again, unknown = map(text, found)

        assert listed.splitlines()[0].startswith("a [")
        assert listed.splitlines()[0].endswith("] task: do a")
        # Nothing had happened, so later requests do not repeat it.
        assert early == "[Uneventful result elided]"
        assert [each.useless is True for each in found] == [at == 2 for at in range(8)]
        assert cancelled.startswith("## b (task): cancelled")
        assert sent == "Sent to a."
        assert waited == "## a (task): completed\n\nfast"
        assert again == "No agent is working."
        assert unknown == "Unknown agent 'zzz'. Agents: a, b."
        assert "and hurry" in str(script.requests["a"][-1].messages)
        assert reports(hosted) == []


async def test_a_message_continues_an_agent_that_has_ended(tmp_path: Path) -> None:
    script = Script(
        main=[
            calls("task", task="x", name="a"),
            calls("hub", action="send", agent="a", message="And the colour?"),
            calls("hub", action="wait", agent="a"),
        ],
        a=[calls("yield", data="a box"), calls("yield", data="blue")],
    )
    async with agent_session(tmp_path, script) as (hosted, _):
        await hosted.session.prompt("go")

        assert text(results(hosted)[1]) == "a goes on in the background."
        assert text(results(hosted)[2]).endswith("blue")
        assert "a box" in str(script.requests["a"][1].messages)
        assert hosted.session.artifacts.outputs.read("a") == "blue"
        count = sum(len(each) for each in script.requests.values())
        assert hosted.session.info.stats().tokens.input == 10 * count


async def test_an_idle_agent_is_closed_and_can_be_continued_from_its_file(tmp_path: Path) -> None:
    script = Script(main=[calls("task", task="x", name="a")])
    async with agent_session(tmp_path, script, task={"agentIdleTtlMs": 1000}) as (hosted, agents):
        await hosted.session.prompt("go")
        node = agents.tree.get("a")
        assert node is not None
        was_open = node.runner is not None
        await hosted.fixture.clock.advance(2)
        await until(agents, lambda: node.runner is None)
        tokens = node.total()[0]
        woken = await agents.work.send(node, "more")
        await node.wait()

        assert (was_open, woken) == (True, True)
        assert (node.state, node.output) == ("completed", "by a")
        assert node.total()[0] > tokens


# Resuming -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("sub-agent-rights-are-bounded")
async def test_a_resumed_session_lists_its_agents_and_wakes_only_those_with_a_history(
    tmp_path: Path,
) -> None:
    script = Script(
        main=[calls("task", tasks=[{"task": "x", "name": "a"}, {"task": "y", "name": "b"}])]
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")
        file = hosted.session.session_file
        assert file is not None
        assert agents.tree.get("b").file is not None  # type: ignore[union-attr]
        agents.tree.get("b").file.rename(tmp_path / "gone")  # type: ignore[union-attr]
        later = Script(
            main=[
                calls("hub", action="list"),
                calls("hub", action="send", agent="b", message="more"),
                calls("hub", action="send", agent="a", message="more"),
                calls("hub", action="wait", agent="a"),
                calls("read", path="history://a"),
            ],
            a=[calls("yield", data="again")],
        )
        await hosted.session.new_session()
        hosted.fixture.provider._endless = later
        await hosted.session.switch_session(file)
        before = len(results(hosted))
        await hosted.session.prompt("go on")
        listed, lost, sent, waited, read = map(text, results(hosted)[before:])

        assert listed == "a [completed, parked] task: x\nb [completed] task: y"
        assert lost == "b has no history any more. Start a new task."
        assert sent == "a goes on in the background."
        assert waited.endswith("again")
        assert "## User\n\nx" in read
        assert "by a" in read
