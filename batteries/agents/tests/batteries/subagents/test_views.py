"""Agents on the screen: under a call, and the screens of ``/agents`` and ``/open``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pi.ai.providers.faux import calls
from pi.batteries.subagents.views import AgentsScreen, TextScreen, report, short_count, task
from pi.coding.extension_host.contributions.views import ToolView
from pi.coding.port.drawing import PlainTheme
from pi.coding.port.extensions import ViewOptions
from pi.coding.session.entries import CustomMessage
from pi.tui.text.width import visible_width
from tests.batteries.subagents.agent_session import Script, agent_session

TUI = SimpleNamespace(terminal=SimpleNamespace(size=SimpleNamespace(rows=60, columns=80)))
FOLDED, OPEN = ViewOptions(expanded=False), ViewOptions(expanded=True)


def row(**more: Any) -> dict[str, Any]:
    return {"id": "a", "title": "Look\x1b[2J for it", "state": "running", "children": [], **more}


def call(*rows: dict[str, Any], text: str = "", **arguments: Any) -> ToolView:
    return ToolView(
        id="1", name="task", arguments=arguments, state="running", text=text,
        details={"agents": list(rows)},
    )  # fmt: skip


def test_a_call_shows_its_agents_as_a_tree_without_control_sequences() -> None:
    child = row(id="a.b", state="failed", reason="no\nsuch file", title="y", tokens=1234, cost=0.5)
    first = row(activity="bash: make", children=[child])
    second = row(id="c", state="completed", branch="pi/c-1", title="z")

    rows = task(call(first, second, tasks=[{}, {}]), FOLDED, PlainTheme())

    assert rows == [
        "2 tasks",
        "▶ a Look for it  bash: make",
        "  ✗ a.b y  1.2k tokens · $0.500 · no such file",
        "✓ c z",
        "  ! unmerged work: pi/c-1",
    ]


def test_a_long_call_is_folded_and_an_expanded_one_shows_results() -> None:
    many = [row(id=f"a{n}") for n in range(20)]

    folded = task(call(*many), FOLDED, PlainTheme())
    expanded = task(call(*many, text="## a0\n\nresult\x1b]0;x\x07"), OPEN, PlainTheme())

    assert folded[-1] == "… 8 more"
    assert expanded[-3:] == ["## a0", "", "result"]


def test_waiting_and_refused_calls_are_drawn() -> None:
    waiting = ToolView(id="1", name="task", arguments={"task": "x"}, state="asking")
    refused = ToolView(id="1", name="task", arguments={}, state="failed", text="no")

    assert task(waiting, FOLDED, PlainTheme()) == ["1 task"]
    assert task(refused, FOLDED, PlainTheme()) == ["1 task", "no"]


def test_a_report_of_a_background_agent_is_drawn() -> None:
    message = CustomMessage(
        custom_type="agent_result",
        content="## a (task): completed\n\nfound",
        details={"agents": [row(state="completed", title="x")]},
        timestamp=0,
    )

    assert report(message, FOLDED, PlainTheme()) == ["✓ a x"]
    assert report(message, OPEN, PlainTheme())[-1] == "found"


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0"), (999, "999"), (1234, "1.2k"), (2e6, "2.0M")]
)
def test_counts_are_abbreviated(count: int, shown: str) -> None:
    assert short_count(int(count)) == shown


def test_a_text_screen_can_be_scrolled_and_closed() -> None:
    closed: list[Any] = []
    lines = "\n\n".join(f"row {n}" for n in range(100))
    screen = TextScreen("agent://a", lines, TUI, PlainTheme(), closed.append)

    first = screen.render(40)
    for key in ("\x1b[6~", "\x1b[B"):
        screen.handle_input(key)
    moved = screen.render(40)
    screen.handle_input("\x1b[F")
    last = screen.render(40)
    screen.handle_input("q")

    assert "row 0" in str(first)
    assert "row 0" not in str(moved)
    assert "row 99" in str(last)
    assert closed == [None]


class Screen:
    """The screen of ``/agents`` in a session, with keys and rows."""

    def __init__(self, agents: Any) -> None:
        self.closed: list[Any] = []
        self.started: list[asyncio.Task[Any]] = []
        self.screen = AgentsScreen(
            agents.work, agents.histories, TUI, PlainTheme(), self.closed.append,
            run=lambda work: self.started.append(asyncio.ensure_future(work)),
        )  # fmt: skip

    def shows(self, width: int = 80) -> str:
        rows = self.screen.render(width)
        assert all(visible_width(row) <= width for row in rows)
        return "\n".join(rows)

    async def press(self, *keys: str) -> str:
        for key in keys:
            self.screen.handle_input(key)
        for each in self.started:
            await each
        return self.shows()


async def test_the_screen_shows_tree_and_transcripts_and_sends_messages(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="Look for it", name="outer")],
        outer=[calls("task", task="y", name="inner"), calls("yield", data="found")],
    )
    async with agent_session(tmp_path, script) as (hosted, agents):
        screen = Screen(agents)
        empty = screen.shows()
        await hosted.session.prompt("go")

        assert "No agent has been started." in empty
        assert "scout" in empty
        tree = screen.shows()
        assert "0 working · 2 in all" in tree
        assert "→   ✓ outer.inner  y" in tree
        assert "parked: takes messages" in tree
        selected = await screen.press("\x1b[A")
        assert "→ ✓ outer  Look for it" in selected
        assert "completed      45  $0.000" in selected
        transcript = await screen.press("\r")
        assert "outer (task): completed" in transcript
        assert "found" in transcript
        await screen.press("s", *"more", "\r")
        node = agents.tree.get("outer")
        assert node is not None
        await node.wait()
        assert "more" in screen.shows()
        assert node.output == "by outer"
        await screen.press("\x1b", "\x1b")
        assert screen.closed == [None]
        assert all(len(line) for line in screen.shows(40))


async def test_the_screen_cancels_an_agent(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="x", name="a", background=True)],
        a=[calls("bash", command="sleep 600")],
    )
    async with agent_session(tmp_path, script, mode="rpc") as (hosted, agents):
        await hosted.session.prompt("go")
        screen = Screen(agents)
        shown = await screen.press("c")

        assert "■ a" in shown
        assert "it was cancelled" in shown
