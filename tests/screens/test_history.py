"""The scrollback contains each block of a conversation once, in its final form."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import Thinking
from pi.ai.providers.faux import Step
from pi.modes.interactive.transcript.tool_views.file_tools import EDIT_PREVIEW_ROWS
from pi.testing import Reply, call, calls, says
from tests.modes.interactive.app_fixture import AppFixture


def low(tmp_path: Path, *steps: Step) -> AppFixture:
    """Return an application in a window that is lower than most blocks."""
    return AppFixture(tmp_path, *steps, says("Done."), columns=60, rows=12)


@pytest.mark.behaviour("committed-rows-are-final")
async def test_a_failed_edit_does_not_leave_its_replacement_text_in_the_transcript(
    tmp_path: Path,
) -> None:
    edits = [{"oldText": "preview\n" * 9, "newText": "other"}]
    answer = Reply(blocks=(call("edit", path="a.py", edits=edits), call("bash", command="true")))
    app_fixture = low(tmp_path, answer)
    (app_fixture.fixture.cwd / "a.py").write_text("nothing\n")
    async with app_fixture.running():
        await app_fixture.asks("go", "Done.")

        assert app_fixture.tape.count("preview") == EDIT_PREVIEW_ROWS  # the text to be replaced
        assert "other" not in app_fixture.tape
        assert [row for row in app_fixture.terminal.tape if " edit a.py" in row] == [" ✗ edit a.py"]


@pytest.mark.behaviour("committed-rows-are-final")
async def test_a_tall_tool_call_is_committed_once_with_its_complete_output(tmp_path: Path) -> None:
    app_fixture = low(tmp_path, calls("bash", command="seq 101 140; cat gate"))
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.type("\x0f")
        app_fixture.send("go")
        await app_fixture.sees("   140")
        assert "   101" not in app_fixture.tape
        await gate.open("opened")
        await app_fixture.sees("Done.")
        await app_fixture.rests()

        rows = [row.strip() for row in app_fixture.terminal.tape]
        begin = rows.index("✓ $ seq 101 140; cat gate")
        assert rows[begin + 1 : begin + 42] == [*map(str, range(101, 141)), "opened"]
        assert "● $" not in app_fixture.tape


PANE = {"TMUX": "/tmp/tmux,1,0"}
"""A multiplexer, in which history cannot be rewritten."""
CTRL_O, CTRL_T = "\x0f", "\x14"


def rows_below(app_fixture: AppFixture, text: str) -> list[str]:
    """Return the rows after the last one that contains a text."""
    rows = app_fixture.tape.split("\n")
    last = max(number for number, row in enumerate(rows) if text in row)
    return rows[last + 1 :]


async def test_going_back_in_the_tree_shows_the_conversation_before_that_point(
    tmp_path: Path,
) -> None:
    answers = [says("\n\n".join(f"{name} {n}" for n in range(30))) for name in ("one", "two")]
    app_fixture = AppFixture(tmp_path, *answers, columns=60, rows=16, environ=PANE)
    async with app_fixture.running():
        await app_fixture.asks("First", "one 29")
        await app_fixture.asks("Second", "two 29")
        assert app_fixture.session is not None
        assert app_fixture.commands is not None
        await app_fixture.session.tree.go_to(app_fixture.session.info.fork_points()[-1].entry_id)
        app_fixture.commands.ui.reload_session()
        await app_fixture.until(lambda: "Another branch" in app_fixture.tape)
        await app_fixture.quiet()

        assert "one 29" in app_fixture.screen
        assert "two 29" not in app_fixture.screen
        assert app_fixture.tape.count("two 29") == 1  # visible rows were moved into history
        assert rows_below(app_fixture, "── Another branch")[:2] == ["", " one 0"]


@pytest.mark.parametrize("key", [CTRL_O, CTRL_T])
async def test_expanding_in_a_multiplexer_repaints_below_a_rule_from_a_block_start(
    tmp_path: Path, key: str
) -> None:
    thought = Thinking(thinking="\n\n".join(f"thought {n}" for n in range(9)))
    steps = [
        Reply(blocks=(thought, call("bash", command="seq 101 109"))),
        says("\n\n".join(f"answer {n}" for n in range(20))),
    ]
    app_fixture = AppFixture(tmp_path, *steps, columns=60, rows=16, environ=PANE)
    async with app_fixture.running():
        await app_fixture.asks("Go", "answer 19")
        app_fixture.type(key)
        title = "── Expanded" if key == CTRL_O else "── Thinking shown"
        await app_fixture.until(lambda: title in app_fixture.tape)
        await app_fixture.quiet()
        below = rows_below(app_fixture, title)
        starts = {CTRL_O: "$ seq", CTRL_T: "thought 0"}
        assert below[0] == ""
        assert starts[key] in below[1]
        assert "answer 19" in app_fixture.screen


async def test_a_new_session_keeps_the_visible_page_above_it(tmp_path: Path) -> None:
    steps = [calls("bash", command="seq 101 104"), says("Done.")]
    app_fixture = AppFixture(tmp_path, *steps, columns=60, rows=12, environ=PANE)
    async with app_fixture.running():
        await app_fixture.asks("Go", "Done.")
        assert app_fixture.session is not None
        await app_fixture.session.sessions.new()
        await app_fixture.until(lambda: "── New session" in app_fixture.tape)
        await app_fixture.quiet()
        for line in ("▌ Go", "   103", "Done."):
            assert app_fixture.tape.count(line) == 1
        assert rows_below(app_fixture, "Done.")[:2] == ["", "── New session " + "─" * 45]
