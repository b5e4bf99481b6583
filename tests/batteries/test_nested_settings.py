"""No nested session changes the settings, policies and wraps of its parent."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Reply, calls, says
from pi.ai.request import Call
from pi.base.records import replace
from pi.batch.driver import BatchOptions, run_batch
from pi.coding.port.results import SubSession
from pi.coding.runtime.session.agent_session import AgentSession
from tests.batteries.collab.sessions import ScreenUI, person, relay_running
from tests.batteries.test_bundled import SOURCES, install
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture
from tests.modes.pipes import until

SECRET = "sk-nested-0123456789abcdef0123"
SETTINGS: dict[str, Any] = {
    "batteries": "recommended",
    "advisor": {"enabled": True},
    "sandbox": {"enabled": True, "exclude": ["user", "extension"]},
    "permissions": {"deny": ["Bash(forbidden:*)"]},
    "compaction": {"keepRecentTokens": 1},
    "modelRoles": {"advisor": "faux/faux", "commit": "faux/faux"},
}


class Answers:
    """A model that calls the tools of ``agent`` in a sub-agent, and otherwise answers with text."""

    def __init__(self) -> None:
        self.main: list[Reply] = []
        self.agent: list[Reply] = []
        self.requests: list[Call] = []

    def __call__(self, call: Call) -> Reply:
        self.requests.append(call)
        is_agent = re.search(r"Your name is [\w.-]+\. Another agent", str(call.messages[0]))
        steps = self.agent if is_agent else self.main
        if steps:
            return steps.pop(0)
        return calls("yield", data="done") if is_agent else says("<title>Done</title> OK.")


class Parent:
    """A session with the recommended batteries and all guards."""

    def __init__(self, fixture: SessionFixture, session: AgentSession, answers: Answers) -> None:
        self.fixture = fixture
        self.session = session
        self.answers = answers

    def state(self) -> dict[str, Any]:
        """Every setting, policy and wrap, the objects themselves."""
        settings = self.session.settings
        registries = self.session.extensions.hosting.host.registries
        return {
            "settings": json.loads(json.dumps(settings.raw)),
            "overrides": json.loads(json.dumps(settings.overrides)),
            "user": settings.layer("user", ()),
            "project": settings.layer("project", ()),
            "values": settings.values,
            "warnings": list(settings.warnings),
            "policies": registries.placed_policies(),
            "model wraps": registries.model_wraps.values,
            "tool wraps": registries.tool_wraps.values,
            "tool limits": registries.tool_limits.values,
            "file layers": registries.file_layers.values,
            "spawn wraps": registries.spawn_wraps.values,
            "redactors": registries.redactors.values,
            "loaded": sorted(
                info.name for info in self.session.extensions.infos() if info.state == "loaded"
            ),
        }


@asynccontextmanager
async def parent(tmp_path: Path) -> AsyncIterator[Parent]:
    answers = Answers()
    environ = {**ENVIRON, "NESTED_API_KEY": SECRET}
    fixture = SessionFixture(tmp_path, answers, environ=environ)
    paths = (install(tmp_path / "installed"), *SOURCES)
    fixture.host = replace(fixture.host, import_path=tuple(map(str, paths)))
    (fixture.agent_dir / "settings.json").write_text(json.dumps(SETTINGS))
    session = await fixture.open()
    try:
        await session.start()
        yield Parent(fixture, session, answers)
    finally:
        await session.close()


async def run_task(on: Parent) -> None:
    on.answers.main.append(calls("task", task="x", name="a"))
    await on.session.prompt("go")


async def run_tasks(on: Parent) -> None:
    on.answers.main.append(
        calls("task", tasks=[{"task": "x", "name": "a"}, {"task": "y", "name": "b"}])
    )
    await on.session.prompt("go")


async def run_nested_task(on: Parent) -> None:
    on.answers.main.append(calls("task", task="x", name="a"))
    on.answers.agent.append(calls("task", task="y", name="b"))
    await on.session.prompt("go")


async def open_session(on: Parent) -> None:
    nested = await on.session.open_nested(SubSession(prompt="x"))
    await nested.prompt("x")
    await nested.close()


async def open_session_of_a_hook(on: Parent) -> None:
    nested = await on.session.open_nested(SubSession(prompt="x", extensions="guards"))
    await nested.prompt("x")
    nested.settings.override({"secrets.enabled": False, "theme": "light"})
    nested.settings.set({"batteries": "none"})
    await nested.close()


async def have_title_and_advice(on: Parent) -> None:
    await on.session.prompt("go")
    await until(lambda: len(on.answers.requests) >= 2)
    await on.session.wait_for_idle()


async def compact(on: Parent) -> None:
    await on.session.prompt("one")
    await on.session.prompt("two")
    on.answers.main.append(says("A summary."))
    await on.session.compaction.compact()


async def commit(on: Parent) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(
            ["git", *identity, *arguments], cwd=on.fixture.cwd, check=True, capture_output=True
        )

    git("init")
    (on.fixture.cwd / "a.txt").write_text("one\n")
    git("add", ".")
    await on.session.prompt("/commit")
    assert on.answers.requests


async def run_a_batch(on: Parent) -> None:
    options = BatchOptions(workers=0, isolation="none", retries=0)
    results = [
        result
        async for result in run_batch(
            [{"id": "a", "prompt": "go", "cwd": str(on.fixture.cwd)}],
            batch=options,
            settings=on.session.settings,
            model_registry=on.fixture.registry,
            model="faux/faux",
            agent_dir=on.fixture.agent_dir,
            environ=dict(on.fixture.host.environ),
        )
    ]
    assert [result.status for result in results] == ["done"]


async def share(on: Parent) -> None:
    ui = ScreenUI()
    on.session.extensions.attach(ui, "rpc")
    async with relay_running() as relay, person(on.fixture.home, "guest") as guest:
        await on.session.prompts.prompt(f"/collab {relay.address}")
        link = re.search(r"\S*[\w-]{22}[.#]\S+", "\n".join((*ui.texts, *ui.notices)))
        assert link is not None, ui.texts
        await guest.join(link[0])
        await guest.run("hello from the guest")
        await until(lambda: "hello from the guest" in str(on.session.messages))
        await on.session.wait_for_idle()
        await guest.run("/leave")
        await on.session.prompts.prompt("/collab stop")


KINDS: tuple[Callable[[Parent], Awaitable[None]], ...] = (
    run_task,
    run_tasks,
    run_nested_task,
    open_session,
    open_session_of_a_hook,
    have_title_and_advice,
    compact,
    commit,
    run_a_batch,
    share,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_a_nested_session_leaves_its_parent_as_it_is(
    tmp_path: Path, kind: Callable[[Parent], Awaitable[None]]
) -> None:
    async with asyncio.timeout(60), parent(tmp_path) as on:
        await on.session.prompt("first")  # loads what a first prompt loads
        before = on.state()
        assert before["settings"]["secrets"] == {"enabled": True}
        assert before["model wraps"] and before["file layers"] and before["spawn wraps"]
        await kind(on)

        after = on.state()
        after["loaded"] = [name for name in after["loaded"] if name in before["loaded"]]
        assert after == before
