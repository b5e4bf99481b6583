"""The real program on a pseudo-terminal."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.testing import calls
from tests.base.processes.children import alive
from tests.cli.forked import TIMEOUT_SECONDS
from tests.cli.program import Program
from tests.modes.interactive.app_fixture import AppFixture
from tests.sampling import sampled
from tests.screens.terminal_user import TOUR, needs_pty, terminal_user
from tests.tui.images.pictures import make_picture

pytestmark = [pytest.mark.slow, needs_pty]


@pytest.mark.behaviour("early-keys-are-kept")
def test_a_line_typed_before_the_start_is_submitted(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path), *TOUR, typed="!!echo $((40 + 2)) is it\r") as ada:
        ada.sees("   42 is it")
        assert ada.leaves() == 0


@pytest.mark.full
@pytest.mark.behaviour("early-keys-are-kept")
def test_an_incomplete_line_typed_before_the_start_is_in_the_editor(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path), *TOUR, typed="half a thou") as ada:
        ada.sees("(demo) tour")
        ada.types("ght")
        ada.sees("\nhalf a thought\n")


@pytest.mark.parametrize(("columns", "rows"), sampled([(80, 24), (120, 40), (40, 12)], keep=1))
def test_every_part_of_a_conversation_is_shown_once_at_every_size(
    tmp_path: Path, columns: int, rows: int
) -> None:
    with terminal_user(Program.below(tmp_path), *TOUR, columns=columns, rows=rows) as ada:
        ada.sees("(demo) tour" if columns > 60 else "tour")
        ada.types("hello\r")
        ada.sees("That was the tour")
        ada.until(lambda: "esc to interrupt" not in ada.tape)
        for line in ("▌ hello", "✓ $ pwd; ls | head", "Now I write a small program", "✓ edit"):
            assert ada.tape.count(line) == 1
        assert ada.leaves() == 0


@pytest.mark.full
def test_the_tui_mode_option_enables_the_alternate_screen(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path), *TOUR, "--tui-mode", "fullscreen") as ada:
        ada.sees("(demo) tour")
        assert ada.terminal.is_alternate
        assert ada.leaves() == 0
    assert not ada.terminal.is_alternate


@pytest.mark.full
def test_the_tui_mode_option_wins_over_the_setting(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    cli.write("settings.json", '{"tuiMode": "fullscreen"}')
    with terminal_user(cli, *TOUR, "--tui-mode", "regular") as ada:
        ada.sees("(demo) tour")
        assert not ada.terminal.is_alternate
        assert ada.leaves() == 0


@pytest.mark.full
def test_every_part_of_a_conversation_is_shown_once_after_a_resize(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path), *TOUR, columns=80, rows=24) as ada:
        ada.sees("(demo) tour")
        ada.types("hello\r")
        ada.sees("Now I write a small program")
        ada.resizes(60, 20)
        ada.sees("That was the tour")
        ada.until(lambda: "esc to interrupt" not in ada.tape)
        ada.until(lambda: ada.screen.count("─" * 60) == 2)
        for line in ("▌ hello", "✓ $ pwd; ls | head", "And read it back.", "Last, I run it."):
            assert ada.tape.count(line) == 1


@pytest.mark.behaviour("drafts-are-kept")
def test_a_draft_survives_when_the_program_is_killed(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    with terminal_user(cli, *TOUR) as ada:
        ada.sees("(demo) tour")
        ada.types("a long thought")
        ada.sees("a long thought")
        until(lambda: [kept.read_text() for kept in drafts(cli)] == ["a long thought"])
        ada.program.kill()
        ada.program.wait(TIMEOUT_SECONDS)
    with terminal_user(cli, *TOUR) as ada:
        ada.sees("\na long thought\n")
        ada.sees("Restored the draft of a session that ended unexpectedly.")
        assert len(drafts(cli)) == 1


@pytest.mark.full
def test_processes_started_by_the_user_end_with_the_program(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    with terminal_user(cli, *TOUR) as ada:
        ada.sees("(demo) tour")
        ada.types("!!sleep 1000 & echo $! > pid; wait\r")
        until(lambda: number_in(cli.cwd / "pid") > 0)
        assert ada.leaves() == 0
    until(lambda: not alive(number_in(cli.cwd / "pid")))


async def test_processes_started_by_the_agent_end_with_the_program(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="sleep 1000 & echo $! > pid; wait"))
    pid = app_fixture.fixture.cwd / "pid"
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.until(lambda: number_in(pid) > 0)
    until(lambda: not alive(number_in(pid)))


def drafts(cli: Program) -> list[Path]:
    return list((cli.agent_dir / "drafts").glob("*.txt"))


def number_in(path: Path) -> int:
    """Return the number in a file; zero if it does not exist yet."""
    text = path.read_text().strip() if path.exists() else ""
    return int(text or 0)


def until(happened: Callable[[], bool]) -> None:
    """Wait until a condition holds that is not visible on the screen."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.full
def test_environment_variables_of_the_screen_take_effect(tmp_path: Path) -> None:
    written = tmp_path / "written"
    cli = Program.below(
        tmp_path,
        KITTY_WINDOW_ID="1",  # enables synchronized output and Kitty pictures
        PI_NO_SYNC_OUTPUT="please",
        PI_FORCE_IMAGE_PROTOCOL="iterm",
        PI_DEBUG_REDRAW="1",
        PI_TUI_WRITE_LOG=str(written),
    )
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z"}
    picture = {
        "type": "image",
        "data": b64encode(make_picture("PNG", 90, 90)).decode(),
        "mimeType": "image/png",
    }
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "look"}, picture],
        "timestamp": 1,
    }
    entry = {"type": "message", "id": "a", "parentId": None, "timestamp": header["timestamp"]}
    lines = ({**header, "cwd": str(cli.cwd)}, {**entry, "message": message})
    session = cli.cwd / "s.jsonl"
    session.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with terminal_user(cli, *TOUR, "--session", str(session)) as ada:
        ada.sees("(demo) tour")
        ada.sees("look")
        ada.until(lambda: b"\x1b]1337;File=" in written.read_bytes())
        assert ada.leaves() == 0

    assert b"?2026h" not in written.read_bytes()
    frames = (cli.agent_dir / "pi.log").read_text()
    assert re.search(r"DEBUG pi\.tui\.screen\.screen: window diff .*: committed \d+ \(", frames)


@pytest.mark.full
def test_a_spent_budget_rejects_the_prompt_and_reports_the_reason_once(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path), *TOUR, rows=60) as ada:
        ada.sees("(demo) tour")
        ada.types("/timebox turns:1\r")
        ada.sees("Timebox")
        ada.types("hello\r")
        ada.sees("That was the tour")
        ada.until(lambda: "esc to interrupt" not in ada.screen)
        ada.types("once more\r")
        ada.sees("Timebox budget spent.")
        ada.until(lambda: "esc to interrupt" not in ada.screen)
        assert "Timebox budget spent." in ada.tape.partition("▌ once more")[2]
        assert ada.tape.count("Timebox budget spent.") == 1
        assert "Interrupted" not in ada.tape
