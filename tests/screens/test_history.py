"""What stays of a conversation in the scrollback: each block once, and as it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.messages import Thinking
from pi.ai.providers.faux import Step
from pi.modes.interactive.transcript.tool_views.file_tools import EDIT_PREVIEW_ROWS
from pi.testing import Reply, call, calls, says
from tests.modes.interactive.theatre import Theatre


def low(tmp_path: Path, *steps: Step) -> Theatre:
    """A theatre with a window in which hardly a block fits."""
    return Theatre(tmp_path, *steps, says("Done."), columns=60, rows=12)


@pytest.mark.behaviour("committed-rows-are-final")
async def test_what_an_edit_was_going_to_replace_does_not_stay_when_it_failed(
    tmp_path: Path,
) -> None:
    edits = [{"oldText": "preview\n" * 9, "newText": "other"}]
    asked = Reply(blocks=(call("edit", path="a.py", edits=edits), call("bash", command="true")))
    async with low(tmp_path, asked).playing() as theatre:
        await theatre.asks("go", "Done.")

        assert theatre.tape.count("preview") == EDIT_PREVIEW_ROWS  # what it was looking for
        assert "other" not in theatre.tape
        assert [row for row in theatre.terminal.tape if " edit a.py" in row] == [" ✗ edit a.py"]


@pytest.mark.behaviour("committed-rows-are-final")
async def test_a_tall_call_goes_into_the_history_once_and_with_its_end(tmp_path: Path) -> None:
    theatre = low(tmp_path, calls("bash", command="seq 101 140; cat gate"))
    gate = theatre.gate()
    async with theatre.playing():
        theatre.type("\x0f")
        theatre.send("go")
        await theatre.sees("   140")
        assert "   101" not in theatre.tape
        await gate.open("opened")
        await theatre.sees("Done.")
        await theatre.rests()

        rows = [row.strip() for row in theatre.terminal.tape]
        begin = rows.index("✓ $ seq 101 140; cat gate")
        assert rows[begin + 1 : begin + 42] == [*map(str, range(101, 141)), "opened"]
        assert "● $" not in theatre.tape


PANE = {"TMUX": "/tmp/tmux,1,0"}
"""History cannot be rewritten there."""
CTRL_O, CTRL_T = "\x0f", "\x14"


def rows_below(theatre: Theatre, text: str) -> list[str]:
    """The rows that follow the last one with a text."""
    rows = theatre.tape.split("\n")
    last = max(number for number, row in enumerate(rows) if text in row)
    return rows[last + 1 :]


async def test_going_back_in_the_tree_shows_the_conversation_before_that_point(
    tmp_path: Path,
) -> None:
    answers = [says("\n\n".join(f"{name} {n}" for n in range(30))) for name in ("one", "two")]
    theatre = Theatre(tmp_path, *answers, columns=60, rows=16, environ=PANE)
    async with theatre.playing():
        await theatre.asks("First", "one 29")
        await theatre.asks("Second", "two 29")
        assert theatre.session is not None
        assert theatre.commands is not None
        await theatre.session.tree.go_to(theatre.session.facts.fork_points()[-1].entry_id)
        theatre.commands.ui.reload_session()
        await theatre.until(lambda: "Another branch" in theatre.tape)
        await theatre.quiet()

        assert "one 29" in theatre.screen
        assert "two 29" not in theatre.screen
        assert theatre.tape.count("two 29") == 1  # what was visible is in history
        assert rows_below(theatre, "── Another branch")[:2] == ["", " one 0"]


@pytest.mark.parametrize("key", [CTRL_O, CTRL_T])
async def test_expanding_in_a_multiplexer_begins_with_a_block_below_a_rule(
    tmp_path: Path, key: str
) -> None:
    thought = Thinking(thinking="\n\n".join(f"thought {n}" for n in range(9)))
    steps = [
        Reply(blocks=(thought, call("bash", command="seq 101 109"))),
        says("\n\n".join(f"answer {n}" for n in range(20))),
    ]
    theatre = Theatre(tmp_path, *steps, columns=60, rows=16, environ=PANE)
    async with theatre.playing():
        await theatre.asks("Go", "answer 19")
        theatre.type(key)
        title = "── Expanded" if key == CTRL_O else "── Thinking shown"
        await theatre.until(lambda: title in theatre.tape)
        await theatre.quiet()
        below = rows_below(theatre, title)
        starts = {CTRL_O: "$ seq", CTRL_T: "thought 0"}
        assert below[0] == ""
        assert starts[key] in below[1]
        assert "answer 19" in theatre.screen


async def test_a_new_session_keeps_the_visible_page_above_it(tmp_path: Path) -> None:
    steps = [calls("bash", command="seq 101 104"), says("Done.")]
    theatre = Theatre(tmp_path, *steps, columns=60, rows=12, environ=PANE)
    async with theatre.playing():
        await theatre.asks("Go", "Done.")
        assert theatre.session is not None
        await theatre.session.sessions.new()
        await theatre.until(lambda: "── New session" in theatre.tape)
        await theatre.quiet()
        for line in ("▌ Go", "   103", "Done."):
            assert theatre.tape.count(line) == 1
        assert rows_below(theatre, "Done.")[:2] == ["", "── New session " + "─" * 45]
