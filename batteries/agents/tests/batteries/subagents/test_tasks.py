"""The ``task`` tool in real sessions, with a script in place of a model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.subagents.submitting import REMINDERS
from tests.batteries.subagents.agent_session import (
    Gate,
    Script,
    agent_session,
    declared,
    results,
    text,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["count"],
    "properties": {"count": {"type": "integer"}},
}


async def test_a_task_returns_the_data_that_its_agent_yields(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="Count the files.", name="counter"), says("seen")],
        counter=[calls("bash", command="echo 3"), calls("yield", data="three files")],
    )
    async with agent_session(tmp_path, script) as (hosted, _):
        await hosted.session.prompt("go")
        [result] = results(hosted)

        assert text(result) == "## counter (task): completed\n\nthree files"
        assert not result.is_error
        [row] = result.details["agents"]  # type: ignore[index]
        assert (row["id"], row["state"], row["requests"]) == ("counter", "completed", 2)
        assert "Count the files." in str(script.requests["counter"][0].messages)
        assert hosted.session.artifacts.outputs.read("counter") == "three files"
        assert hosted.failures == []


async def test_a_batch_shares_a_context_and_names_are_never_reused(tmp_path: Path) -> None:
    tasks = [{"task": "a", "agent": "quick"}, {"task": "b", "agent": "quick"}, {"task": "c"}]
    script = Script(main=[calls("task", context="All of Rome.", tasks=tasks)])
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")

        assert sorted(node.id for node in agents.tree.all()) == ["quick", "quick-2", "task"]
        assert all(
            "All of Rome." in str(script.requests[id][0].messages) for id in ("quick", "task")
        )
        assert text(results(hosted)[0]).count("completed") == 3


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"task": "x", "agent": "scuot"}, "Unknown agent 'scuot' in task 1. Agents: quick, rev"),
        ({"tasks": [{"task": "x"}, {"task": ""}]}, "Task 2 has no text"),
        ({}, "Task 1 has no text"),
        ({"task": "x", "tasks": [{"task": "y"}]}, "Pass either tasks or task, not both"),
        ({"tasks": [{"task": "x"}] * 65}, "65 tasks are too many"),
        ({"task": "x", "outputSchema": {"type": "nonsense"}}, "outputSchema"),
    ],
)
async def test_nothing_starts_if_a_task_of_the_call_is_wrong(
    tmp_path: Path, arguments: dict[str, Any], reason: str
) -> None:
    script = Script(main=[calls("task", **arguments)])
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")

        assert results(hosted)[0].is_error
        assert reason in text(results(hosted)[0])
        assert agents.tree.all() == []


async def test_maximum_concurrency_limits_running_tasks(tmp_path: Path) -> None:
    gate = Gate()
    script = Script(main=[calls("task", tasks=[{"task": str(n)} for n in range(4)])])
    async with agent_session(tmp_path, script, gate.extension, task={"maxConcurrency": 2}) as (
        hosted,
        agents,
    ):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await gate.until(2)
        states = sorted(node.state for node in agents.tree.all())
        gate.open.set()
        await run

        assert states == ["queued", "queued", "running", "running"]
        assert gate.most == 2
        assert text(results(hosted)[0]).count("completed") == 4


# The result ---------------------------------------------------------------------------------------


async def test_the_result_is_checked_against_the_schema(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="x", name="a", outputSchema=SCHEMA)],
        a=[
            calls("yield", data={"count": "many"}),
            calls("yield", data='{"count": "4"}'),  # text, and a number as text
        ],
    )
    async with agent_session(tmp_path, script) as (hosted, _):
        await hosted.session.prompt("go")

        assert hosted.session.artifacts.outputs.read("a") == '{\n  "count": 4\n}'
        second = str(script.requests["a"][1].messages[-1])
        assert "call yield again" in second


@pytest.mark.parametrize(("mode", "state"), [("strict", "failed"), ("permissive", "completed")])
async def test_a_result_that_never_matches_the_schema_ends_with_a_reason(
    tmp_path: Path, mode: str, state: str
) -> None:
    wrong = calls("yield", data={"count": "many"})
    script = Script(
        main=[calls("task", task="x", name="a", outputSchema=SCHEMA, schemaMode=mode)],
        a=[wrong, wrong, wrong, wrong],
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")
        [node] = agents.tree.all()

        assert node.state == state
        assert "schema" in node.reason
        assert "many" in node.output
        assert len(script.requests["a"]) == 3


@pytest.mark.behaviour("sub-agent-always-settles")
async def test_an_agent_without_a_result_is_reminded_three_times_and_then_forced(
    tmp_path: Path,
) -> None:
    silent = [says("I am done."), says("Really."), says("Yes."), calls("yield", data="at last")]
    script = Script(main=[calls("task", task="x", name="a")], a=silent)
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")

        assert agents.tree.all()[0].output == "at last"
        requests = script.requests["a"]
        assert [request.options.tool_choice for request in requests] == [None, None, None, "yield"]
        for reminder, request in zip(REMINDERS, requests[1:], strict=True):
            assert reminder in str(request.messages[-1])


@pytest.mark.behaviour("sub-agent-always-settles")
@pytest.mark.parametrize(
    ("schema", "state", "reason"),
    [(None, "completed", "did not call yield"), (SCHEMA, "failed", "a text instead")],
)
async def test_an_agent_that_never_yields_ends_with_a_reason(
    tmp_path: Path, schema: Any, state: str, reason: str
) -> None:
    more = {} if schema is None else {"outputSchema": schema}
    script = Script(
        main=[calls("task", task="x", name="a", **more)], a=[says(f"no {n}") for n in range(9)]
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")
        [node] = agents.tree.all()

        assert (node.state, len(script.requests["a"])) == (state, 4)
        assert reason in node.reason
        assert node.output == "no 3"


async def test_an_error_yielded_by_the_agent_is_a_tool_error(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="x", name="a")], a=[calls("yield", error="there is no such file")]
    )
    async with agent_session(tmp_path, script) as (hosted, _):
        await hosted.session.prompt("go")

        assert results(hosted)[0].is_error
        assert "Reason: there is no such file" in text(results(hosted)[0])


async def test_a_long_output_is_limited_and_the_rest_is_stored(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="x", name="a")], a=[calls("yield", data="line\n" * 6000)]
    )
    environ = {"PI_TASK_MAX_OUTPUT_LINES": "5500", "PI_TASK_MAX_OUTPUT_BYTES": "400000"}
    async with agent_session(tmp_path, script, environ=environ) as (hosted, _):
        await hosted.session.prompt("go")
        stored = hosted.session.artifacts.outputs.read("a") or ""

        assert stored.count("line\n") == 5500
        assert "[Output limited: 27499 of 30000 bytes, of 6001 lines.]" in stored
        assert "Read agent://a for all." in text(results(hosted)[0])


# Limits -------------------------------------------------------------------------------------------


async def test_tasks_are_nested_two_deep_and_no_deeper(tmp_path: Path) -> None:
    inner = calls("task", task="deeper", name="inner")
    script = Script(
        main=[calls("task", task="x", name="outer")],
        outer=[inner, calls("yield", data="outer done")],
        outer__inner=[calls("task", task="too deep"), calls("yield", data="inner done")],
    )
    async with agent_session(tmp_path, script, task={"maxConcurrency": 1}) as (hosted, agents):
        await hosted.session.prompt("go")

        assert [node.id for node in agents.tree.all()] == ["outer", "outer.inner"]
        assert "task" in declared(script.requests["outer"][0])
        assert "task" not in declared(script.requests["outer.inner"][0])
        assert agents.tree.all()[1].output == "inner done"


@pytest.mark.behaviour("sub-agent-rights-are-bounded")
async def test_an_agent_never_has_a_tool_that_its_caller_lacks(tmp_path: Path) -> None:
    folder = tmp_path / "home/.pi/agent/agents"
    folder.mkdir(parents=True)
    (folder / "greedy.md").write_text(
        "---\ndescription: Wants all.\ntools: read, bash, write, grep, task, hub\n"
        "spawns: '*'\n---\n"
    )
    script = Script(main=[calls("task", task="x", agent="greedy", name="a")])
    async with agent_session(tmp_path, script) as (hosted, _):
        hosted.session.set_active_tools(["read", "task"])
        await hosted.session.prompt("go")

        assert declared(script.requests["a"][0]) == ["read", "task", "yield"]


async def test_a_soft_budget_requests_the_result_and_then_forces_it(tmp_path: Path) -> None:
    busy = [calls("bash", command="true") for _ in range(5)]
    script = Script(
        main=[calls("task", task="x", name="a")], a=[*busy, calls("yield", data="so far")]
    )
    async with agent_session(tmp_path, script, task={"softRequestBudget": 4}) as (hosted, agents):
        await hosted.session.prompt("go")
        requests = script.requests["a"]

        assert agents.tree.all()[0].output == "so far"
        assert "the budget of this task" in str(requests[4].messages)
        assert [each.options.tool_choice for each in requests] == [None] * 5 + ["yield"]


@pytest.mark.behaviour("sub-agent-always-settles")
async def test_an_agent_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    gate = Gate()
    script = Script(main=[calls("task", task="x", name="a"), says("ok")])
    async with agent_session(tmp_path, script, gate.extension, task={"maxRuntimeMs": 5000}) as (
        hosted,
        agents,
    ):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await gate.until(1)
        await hosted.fixture.clock.advance(6)
        await run

        assert agents.tree.all()[0].state == "failed"
        assert "longer than 5 s (task.maxRuntimeMs)" in text(results(hosted)[0])


# Costs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["completed", "failed", "cancelled"])
async def test_the_usage_of_agents_is_in_the_totals_whatever_their_outcome(
    tmp_path: Path, outcome: str
) -> None:
    ends = {
        "completed": calls("yield", data="ok"),
        "failed": calls("yield", error="no"),
        "cancelled": calls("bash", command="sleep 60"),
    }
    script = Script(
        main=[calls("task", task="x", name="a")],
        a=[calls("task", task="y", name="b"), ends[outcome]],
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        if outcome == "cancelled":
            changed = asyncio.Event()
            agents.tree.on_change(changed.set)
            while not any(node.activity.startswith("bash") for node in agents.tree.all()):
                changed.clear()
                await changed.wait()
            await agents.work.cancel(agents.tree.active())
        await run
        count = sum(len(each) for each in script.requests.values())

        assert agents.tree.get("a").state == outcome  # type: ignore[union-attr]
        assert hosted.session.info.stats().tokens.input == 10 * count
