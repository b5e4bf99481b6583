"""What stays of a conversation in the scrollback: each block once, and as it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.providers.faux import Step
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

        assert "preview" not in theatre.tape
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
