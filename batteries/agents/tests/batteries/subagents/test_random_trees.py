"""Random trees of agents that succeed, fail, hang, are killed, conflict: every parent settles."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Reply, calls, says
from pi.ai.request import Call
from pi.base.records import Record
from pi.batteries.subagents.adapter import SubAgents
from pi.batteries.subagents.nodes import ENDED, AgentNode
from tests.base.processes.children import needs_posix_shell
from tests.batteries.subagents.agent_session import agent_session, asking, results, text
from tests.batteries.subagents.test_isolation import branches, edits, is_tidy, make_repository
from tests.coding.extension_host.extension_session import ExtensionFixture, FakeUI

pytestmark = [
    needs_posix_shell,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]

ENDS = ("success", "failure", "error", "silent", "abort", "kill", "timeout", "crash")
HANGING = ("abort", "kill", "timeout")


class Plan(Record):
    """What one agent does."""

    name: str
    end: str
    isolated: bool
    children: tuple[Plan, ...] = ()

    def walk(self, parent: str = "") -> Iterator[tuple[str, Plan]]:
        id = f"{parent}.{self.name}" if parent else self.name
        yield id, self
        for child in self.children:
            yield from child.walk(id)


def grown(chance: random.Random, names: Iterator[int], depth: int) -> tuple[Plan, ...]:
    count = chance.randint(1, 3) if depth == 1 else chance.randint(0, 2)
    return tuple(
        Plan(
            name=f"n{next(names)}",
            end=chance.choice(ENDS),
            isolated=chance.random() < 0.4,
            children=grown(chance, names, depth + 1) if depth < 2 else (),
        )
        for _ in range(count)
    )


def started(plans: tuple[Plan, ...]) -> Reply:
    rows = [{"task": plan.end, "name": plan.name, "isolated": plan.isolated} for plan in plans]
    return calls("task", tasks=rows)


class Play:
    """Responses for every agent of a forest; also ends agents that hang."""

    def __init__(self, forest: tuple[Plan, ...], pids: Path) -> None:
        self._forest = forest
        self._plans = {id: plan for root in forest for id, plan in root.walk()}
        self._left = {id: self._steps(id, plan) for id, plan in self._plans.items()}
        self._main = [started(forest)]
        self._pids = pids

    def __call__(self, call: Call) -> Reply:
        id = asking(call)
        if not id:
            return self._main.pop() if self._main else says("done")
        step = next(self._left[id], None)
        return step or says("silent")

    def _steps(self, id: str, plan: Plan) -> Iterator[Reply]:
        if plan.isolated:
            yield edits(5, f"by {id}")
        if plan.children:
            yield started(plan.children)
        match plan.end:
            case "success":
                yield calls("yield", data=id)
            case "failure":
                yield calls("yield", error=f"{id} cannot")
            case "error":
                yield Reply(error="the model is gone")
            case "crash":
                yield calls("bash", command="kill -9 $$")
                yield calls("yield", data="survived")
            case "abort" | "kill" | "timeout":
                yield calls("bash", command=f"echo $$ > {self._pids / id}; sleep 600")

    def hanging(self, agents: SubAgents) -> list[tuple[AgentNode, str]]:
        """The agents that hang until they are ended."""
        return [
            (node, self._plans[node.id].end)
            for node in agents.tree.active()
            if node.state == "running" and node.activity.startswith("bash: echo $$")
            if (self._pids / node.id).exists() and (self._pids / node.id).read_text().strip()
        ]

    async def end_all(self, run: asyncio.Future[Any], hosted: Any, agents: SubAgents) -> None:
        """Cancel, kill or let time pass until nothing hangs."""
        while not run.done():
            await asyncio.wait({run}, timeout=0.02)
            hanging = self.hanging(agents)
            for node, end in hanging:
                if end == "abort":
                    await agents.work.cancel([node])
                elif end == "kill" and node.runner is not None:
                    await node.runner.close()
            late = [node for node, end in hanging if end == "timeout"]
            working = [
                node
                for node in agents.tree.active()
                if node.state != "queued" and not node.activity.startswith("task")
            ]
            if late and len(late) == len(working):
                await hosted.fixture.clock.advance(61)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def check(
    tmp_path: Path, hosted: ExtensionFixture, agents: SubAgents, pids: Path, shown: str = ""
) -> None:
    folder = tmp_path / "home/project"
    nodes = agents.tree.all()
    assert {node.state for node in nodes} <= {*ENDED}
    assert all(node.reason for node in nodes if node.state != "completed")
    assert agents.tree.slots._used == 0
    assert not [pid for pid in pids.iterdir() if is_alive(int(pid.read_text() or "99999999"))]
    # Work that was not merged is where its agent says, and nothing else is left.
    assert sorted(branches(folder)) == sorted(node.branch for node in nodes if node.branch)
    assert [node.path for node in nodes if node.path] == []
    assert is_tidy(tmp_path, folder)
    output = "".join(map(text, results(hosted))) + shown
    for node in agents.tree.roots:
        assert node.branch in output
    for node in nodes:
        assert not node.branch or any(node.branch in note for note in node.notes)


SEEDS = [1, 2, 3, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(4, 60))]


@pytest.mark.behaviour("sub-agent-always-settles")
@pytest.mark.parametrize("seed", SEEDS)
async def test_every_task_call_settles_and_nothing_remains(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    make_repository(tmp_path)
    (pids := tmp_path / "pids").mkdir()
    play = Play(grown(chance, iter(range(100)), 1), pids)
    task = {"maxConcurrency": chance.choice([1, 2, 8]), "maxRuntimeMs": 60_000}
    settings = {"retry": {"enabled": False}}
    async with agent_session(tmp_path, play, task=task, settings=settings) as (hosted, agents):
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await play.end_all(run, hosted, agents)
        await run

        check(tmp_path, hosted, agents, pids)
        assert "done" in str(hosted.session.messages[-1])


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.full) for n in range(2, 20))]
)
async def test_an_abort_at_any_time_leaves_no_running_agents(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    make_repository(tmp_path)
    (pids := tmp_path / "pids").mkdir()
    play = Play(grown(chance, iter(range(100)), 1), pids)
    settings, ui = {"retry": {"enabled": False}}, FakeUI()
    async with agent_session(tmp_path, play, settings=settings, ui=ui) as (hosted, agents):
        changes, at, reached = 0, chance.randint(1, 15), asyncio.Event()

        def count() -> None:
            nonlocal changes
            changes += 1
            hangs = any(node.activity.startswith("bash: echo $$") for node in agents.tree.active())
            if changes >= at or hangs:
                reached.set()

        agents.tree.on_change(count)
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        waiting = asyncio.ensure_future(reached.wait())
        await asyncio.wait({run, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await hosted.session.abort()
        await hosted.session.abort()
        await run
        for node in agents.tree.all():
            await node.wait()

        check(tmp_path, hosted, agents, pids, shown=str(ui.seen))
