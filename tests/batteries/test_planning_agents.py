"""Real sub-agents in plan mode change nothing, however they are started."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Reply, calls, says
from pi.batteries.plan.adapter import extension as plan
from pi.batteries.subagents.adapter import SubAgents
from tests.base.processes.children import needs_posix_shell
from tests.batteries.plan.plan_session import ON, Decider
from tests.batteries.plan.test_attempts import ENVIRON, machine, picture, project
from tests.batteries.subagents.agent_session import Gate, Script, agent_session, results, text
from tests.batteries.subagents.test_control import until
from tests.coding.extension_host.extension_session import ExtensionFixture

__all__ = ["machine", "project"]
pytestmark = [needs_posix_shell, pytest.mark.behaviour("plan-mode-changes-nothing")]
AGENTS = ("one", "two", "flat", "flat.below", "flat.apart", "late", "copied")
DEFINITION = """\
---
name: copyist
description: works in a copy
isolation: worktree
---
Work.
"""
SIGNATURES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("write", {"path": "made.txt", "content": "x"}),
    ("write", {"path": "~/.bashrc", "content": "x"}),
    ("edit", {"path": "kept.txt", "edits": [{"oldText": "kept", "newText": "lost"}]}),
    ("bash", {"command": "echo x > made.txt"}),
    ("bash", {"command": "python3 -c \"open('made.txt', 'w').write('x')\""}),
    ("bash", {"command": "git commit -qam x --allow-empty"}),
    ("bash", {"command": "git worktree add ../other"}),
    ("bash", {"command": "sed -i s/kept/lost/ kept.txt"}),
)


def attempts(*last: Reply) -> list[Reply]:
    return [*(calls(name, **arguments) for name, arguments in SIGNATURES), *last]


@asynccontextmanager
async def planning_agents(
    tmp_path: Path, script: Script, *others: Any, plans: bool = True, **options: Any
) -> AsyncIterator[tuple[ExtensionFixture, SubAgents]]:
    """A session with both batteries; plan mode is on from the start if ``plans``."""
    environ = {**ENVIRON, **options.pop("environ", {})}
    flags = {"flags": {"plan-mode": plans}}
    async with agent_session(
        tmp_path,
        script,
        plan,
        *others,
        settings=ON,
        environ=environ,
        extension_options=flags,
        **options,
    ) as (hosted, agents):
        hosted.session.extensions.attach(Decider(), "rpc")
        yield hosted, agents


async def test_no_sub_agent_changes_files_in_plan_mode(
    tmp_path: Path, project: Path, machine: str
) -> None:
    definition = tmp_path / "home/.pi/agent/agents/copyist.md"
    definition.parent.mkdir(parents=True)
    definition.write_text(DEFINITION)
    before = picture(tmp_path / "home")
    done = calls("yield", data="done")
    script = Script(
        main=[
            calls("task", tasks=[
                {"task": "x", "name": "one"},
                {"task": "x", "name": "two", "isolated": True},
            ]),
            calls("task", task="x", name="flat", isolated=True),
            calls("task", task="x", name="copied", agent="copyist"),
            calls("task", task="x", name="late", background=True, isolated=True),
            calls("hub", action="wait", agent="late"),
            says("done"),
        ],
        one=attempts(done),
        two=attempts(done),
        flat=attempts(
            calls("task", tasks=[
                {"task": "x", "name": "below"}, {"task": "x", "name": "apart", "isolated": True},
            ]),
            done,
        ),
        flat__below=attempts(done),
        flat__apart=attempts(done),
        late=attempts(done),
        copied=attempts(done),
    )  # fmt: skip
    async with planning_agents(tmp_path, script) as (hosted, agents):
        await hosted.session.prompt("go")
        await agents.tree.get("late").wait()  # type: ignore[union-attr]
        nodes = agents.tree.all()

        assert sorted(node.id for node in nodes) == sorted(AGENTS)
        assert {node.state for node in nodes} == {"completed"}
        assert [node.id for node in nodes if node.branch or node.path or node.is_merged] == []
        assert not results(hosted)[-1].is_error, text(results(hosted)[-1])

    tried = sum(len(requests) - 1 for name, requests in script.requests.items() if name)
    assert tried >= len(AGENTS) * len(SIGNATURES) >= 56
    assert picture(tmp_path / "home") == before
    assert not (tmp_path / "home/.pi/agent/working-copies").exists()


PROGRAM = """\
import json, os, sys
from pathlib import Path

def send(event):
    print(json.dumps(event), flush=True)

Path({pid!r}).write_text(str(os.getpid()))
for line in sys.stdin:
    command = json.loads(line)
    send({{"type": "response", "command": command["type"], "success": True}})
    if command.get("message") == "work on":
        continue  # it works until it is ended
    if command["type"] == "prompt":
        Path("made.txt").write_text("x")
        message = {{"role": "assistant", "content": [{{"type": "text", "text": "ok"}}]}}
        send({{"type": "message_end", "message": message}})
        send({{"type": "agent_settled"}})
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(PROGRAM.format(pid=str(tmp_path / "pid")))
    return path


def is_running(tmp_path: Path) -> bool:
    try:
        os.kill(int((tmp_path / "pid").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


async def test_an_agent_in_another_process_is_not_started(
    tmp_path: Path, project: Path, program: Path, machine: str
) -> None:
    before = picture(tmp_path / "home")
    tasks = [{"task": "x", "name": "a"}, {"task": "y", "name": "b", "isolated": True}]
    script = Script(
        main=[
            calls("task", tasks=tasks),
            calls("task", task="x", name="c"),
            calls("task", task="x", name="d", background=True),
            says("done"),
        ]
    )
    environ = {"PI_SUBPROCESS_CMD": shlex.join([sys.executable, str(program)])}
    async with planning_agents(tmp_path, script, environ=environ) as (hosted, agents):
        await hosted.session.prompt("go")
        await agents.tree.get("d").wait()  # type: ignore[union-attr]
        nodes = agents.tree.all()

        assert [node.state for node in nodes] == ["failed"] * 4
        assert all("plan mode cannot restrict it" in node.reason for node in nodes)
        assert "plan mode cannot restrict it" in text(results(hosted)[0])

    assert not (tmp_path / "pid").exists()
    assert picture(tmp_path / "home") == before


async def test_plan_mode_ends_agents_that_run_in_other_processes(
    tmp_path: Path, project: Path, program: Path
) -> None:
    script = Script(
        main=[
            calls("task", task="x", name="parked"),
            says("done"),
            calls("task", task="work on", name="busy", background=True),
            says("done"),
            calls("hub", action="send", agent="parked", message="more"),
        ]
    )
    environ = {"PI_SUBPROCESS_CMD": shlex.join([sys.executable, str(program)])}
    async with planning_agents(tmp_path, script, plans=False, environ=environ) as (hosted, agents):
        await hosted.session.prompt("go")
        assert (project / "made.txt").read_text() == "x"  # as it should, without plan mode
        assert is_running(tmp_path)
        await hosted.session.prompt("/plan")
        assert not is_running(tmp_path)

        await hosted.session.prompt("/plan off")
        await hosted.session.prompt("again")
        await until(agents, lambda: agents.tree.get("busy").runner is not None)  # type: ignore[union-attr]
        await hosted.session.prompt("/plan")
        busy = agents.tree.get("busy")
        assert busy is not None
        assert busy.state == "cancelled"
        assert "plan mode was switched on" in " ".join(busy.notes)
        assert not is_running(tmp_path)

        (project / "made.txt").unlink()
        await hosted.session.prompt("and again")
        assert "has no history any more" in text(results(hosted)[-1])
        assert not (project / "made.txt").exists()


@pytest.mark.parametrize("merge", ["patch", "branch"])
async def test_work_of_an_isolated_sub_agent_is_not_merged_in_plan_mode(
    tmp_path: Path, project: Path, merge: str
) -> None:
    gate = Gate()
    script = Script(
        main=[calls("task", task="x", name="a", background=True, isolated=True), says("started")],
        a=[calls("yield", data="done")],
    )
    task = {"isolation": {"merge": merge}}
    async with planning_agents(tmp_path, script, gate.extension, plans=False, task=task) as (
        hosted,
        agents,
    ):
        await hosted.session.prompt("go")
        await gate.until(1)
        node = agents.tree.get("a")
        assert node is not None
        assert node.cwd is not None
        (node.cwd / "made.txt").write_text("x")
        await hosted.session.prompt("/plan")
        gate.open.set()
        await asyncio.wait_for(node.wait(), 30)

        assert node.state == "completed"
        assert node.branch.startswith("pi/")
        assert "plan mode is on" in " ".join(node.notes)
        assert not (project / "made.txt").exists()
