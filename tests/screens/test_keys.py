from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest

from pi.testing import calls, says
from pi.tui.component import PROMPT_MARK
from tests.modes.interactive.app_fixture import AppFixture

CTRL_C, CTRL_D, CTRL_G, CTRL_O, CTRL_P, ESCAPE = "\x03", "\x04", "\x07", "\x0f", "\x10", "\x1b"
ALT_ENTER, ALT_UP, SHIFT_TAB = "\x1b[13;3u", "\x1b[1;3A", "\x1b[Z"
ALT_L, ALT_X = "\x1b[108;3u", "\x1b[120;3u"


async def test_ctrl_c_clears_the_editor_and_leaves_when_pressed_twice(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("something")
        await app_fixture.sees("something")
        app_fixture.type(CTRL_C)
        await app_fixture.loses("something")
        assert not app_fixture.app.has_ended
        app_fixture.type(CTRL_C)
        await app_fixture.until(lambda: app_fixture.app.has_ended)


async def test_ctrl_c_in_an_empty_editor_shows_a_temporary_exit_hint(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type(CTRL_C)
        await app_fixture.sees("Press Ctrl+C again to exit")
        await app_fixture.clock.advance(1.4)
        await app_fixture.quiet()
        assert "Press Ctrl+C again to exit" in app_fixture.screen
        await app_fixture.clock.advance(0.2)
        await app_fixture.loses("Press Ctrl+C again to exit")
        app_fixture.type(CTRL_C)
        await app_fixture.sees("Press Ctrl+C again to exit")
        assert not app_fixture.app.has_ended
        app_fixture.type(CTRL_C)
        await app_fixture.until(lambda: app_fixture.app.has_ended)


async def test_any_other_key_removes_the_exit_hint(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type(CTRL_C)
        await app_fixture.sees("Press Ctrl+C again to exit")
        app_fixture.type("x")
        await app_fixture.loses("Press Ctrl+C again to exit")
        app_fixture.type(CTRL_C)
        await app_fixture.until(lambda: "\nx\n" not in app_fixture.screen)
        assert not app_fixture.app.has_ended


async def test_ctrl_c_in_an_empty_editor_interrupts_the_run_and_then_exits(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.type("not this")
        await app_fixture.sees("not this")
        app_fixture.type(CTRL_C)
        await app_fixture.loses("not this")
        await app_fixture.quiet()
        assert "Running bash" in app_fixture.screen
        await app_fixture.clock.advance(1.0)
        app_fixture.type(CTRL_C)
        await app_fixture.sees("aborted")
        await app_fixture.sees("Press Ctrl+C again to exit")
        await app_fixture.rests()
        assert not app_fixture.app.has_ended
        app_fixture.type(CTRL_C)
        await app_fixture.until(lambda: app_fixture.app.has_ended)


async def test_ctrl_c_after_an_interruption_clears_the_restored_messages(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.send("and be quick")
        await app_fixture.sees("Steering: and be quick")
        await app_fixture.clock.advance(1.0)
        app_fixture.type(CTRL_C)
        await app_fixture.sees("aborted")
        await app_fixture.until(lambda: "\nand be quick\n" in app_fixture.screen)
        await app_fixture.loses("again to exit")  # Ctrl+C would clear the restored message instead
        app_fixture.type(CTRL_C)
        await app_fixture.until(lambda: "\nand be quick\n" not in app_fixture.screen)
        assert not app_fixture.app.has_ended


async def test_ctrl_c_clears_the_text_while_suggestions_are_open(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("/mo")
        await app_fixture.sees("Select model")
        app_fixture.type(CTRL_C)
        await app_fixture.loses("Select model")
        await app_fixture.loses("/mo")
        app_fixture.type("hello")
        await app_fixture.until(lambda: "\nhello\n" in app_fixture.screen)


async def test_text_cleared_by_ctrl_c_is_in_the_prompt_history(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("something")
        app_fixture.type(CTRL_C)
        await app_fixture.loses("something")
        app_fixture.type("\x1b[A")
        await app_fixture.sees("something")


@pytest.mark.behaviour("ctrl-d-deletes-forward")
async def test_ctrl_d_deletes_forward_and_exits_only_from_an_empty_editor(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("xy")
        app_fixture.type("\x01")
        app_fixture.type(CTRL_D)
        await app_fixture.until(lambda: "\ny\n" in app_fixture.screen)
        assert not app_fixture.app.has_ended
        app_fixture.type(CTRL_D)
        app_fixture.type(CTRL_D)
        await app_fixture.until(lambda: app_fixture.app.has_ended)


async def test_escape_stops_the_agent_and_returns_queued_messages_to_the_editor(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.send("and be quick")
        await app_fixture.sees("Steering: and be quick")
        app_fixture.type("half a thought")
        app_fixture.type(ESCAPE)
        await app_fixture.sees("aborted")
        await app_fixture.rests()
        assert "Steering:" not in app_fixture.screen
        assert "and be quick\n\nhalf a thought" in app_fixture.screen
        assert "Never said" not in app_fixture.tape


async def test_a_message_sent_while_the_agent_works_steers_it(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Both done."))
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.send("also this")
        await app_fixture.sees("Steering: also this")
        await gate.open("opened")
        await app_fixture.sees("▌ also this")
        await app_fixture.sees("Both done.")
        assert "Steering:" not in app_fixture.screen


async def test_alt_enter_queues_a_follow_up_and_alt_up_returns_it_to_the_editor(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.type("later")
        app_fixture.type(ALT_ENTER)
        await app_fixture.sees("Follow-up: later")
        app_fixture.type(ALT_UP)
        await app_fixture.loses("Follow-up: later")
        await app_fixture.until(lambda: "\nlater\n" in app_fixture.screen)
        await gate.open()
        await app_fixture.sees("Done.")


async def test_alt_enter_sends_the_message_immediately_if_the_agent_is_idle(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    async with app_fixture.running():
        app_fixture.type(CTRL_C)
        await app_fixture.sees("Press Ctrl+C again to exit")
        app_fixture.type("hello")
        app_fixture.type(ALT_ENTER)
        await app_fixture.sees("Yes.")
        await app_fixture.loses("Press Ctrl+C again")


async def test_escape_twice_on_an_empty_editor_opens_the_tree(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type(ESCAPE)
        await app_fixture.quiet()
        app_fixture.type(ESCAPE)
        await app_fixture.until(lambda: app_fixture.commands.ran == [("tree", "")])  # type: ignore[union-attr]


async def test_escape_closes_suggestions_before_anything_else(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("/")
        await app_fixture.sees("Select model")
        app_fixture.type(ESCAPE)
        await app_fixture.loses("Select model")
        await app_fixture.until(lambda: "\n/\n" in app_fixture.screen)


async def test_shift_tab_changes_the_thinking_level(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        await app_fixture.sees("faux • medium")
        app_fixture.type(SHIFT_TAB)
        await app_fixture.sees("faux • high")
        await app_fixture.sees("Thinking: high")


async def test_ctrl_p_reports_that_there_is_only_one_model(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        await app_fixture.sees("(faux) faux")
        app_fixture.type(CTRL_P)
        await app_fixture.until(
            lambda: "Only one model" in app_fixture.screen or "Model:" in app_fixture.screen
        )


async def test_ctrl_z_suspends_and_the_screen_is_restored(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("a draft")
        await app_fixture.sees("a draft")
        app_fixture.type("\x1a")
        await app_fixture.until(lambda: app_fixture.terminal.suspended == 1)
        await app_fixture.sees("a draft")


@pytest.mark.behaviour("external-editor")
async def test_the_terminal_is_released_for_the_external_editor_and_restored_after_it(
    tmp_path: Path,
) -> None:
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        "path = Path(sys.argv[2])\nassert sys.argv[1] == '--wait'\n"
        "path.write_text(path.read_text() + ' and edited\\n')\n"
    )
    app_fixture = AppFixture(tmp_path, environ={})
    app_fixture.fixture.write(
        ".pi/agent/settings.json",
        f'{{"externalEditor": "\\"{sys.executable}\\" \\"{script}\\" --wait"}}',
    )
    async with app_fixture.running():
        app_fixture.type("written here")
        await app_fixture.sees("written here")
        app_fixture.type(CTRL_G)
        await app_fixture.sees("written here and edited")
        restored = "".join(app_fixture.terminal.output)
        assert restored.count("\x1b[?2004l") == 1
        assert restored.count("\x1b[?2004h") == 2


async def test_an_external_editor_that_fails_leaves_the_text_unchanged(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"externalEditor": "false"}')
    async with app_fixture.running():
        app_fixture.type("written here")
        app_fixture.type(CTRL_G)
        await app_fixture.sees("the text is unchanged")
        await app_fixture.sees("\nwritten here\n")


async def test_a_disconnected_terminal_ends_the_application(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.terminal.vanish()
        await app_fixture.until(lambda: app_fixture.app.has_ended)


async def test_the_redraw_key_repaints_the_screen(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    async with app_fixture.running():
        await app_fixture.asks("Are you there?", "Yes.")
        app_fixture.terminal.write("\x1b[HSOMETHING ELSE")  # another program writes to the terminal
        assert "SOMETHING ELSE" in app_fixture.screen
        app_fixture.type(ALT_L)
        await app_fixture.loses("SOMETHING ELSE")
        assert app_fixture.tape.count("Are you there?") == 1


async def test_the_copy_key_copies_the_draft_or_the_last_prompt(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    async with app_fixture.running():
        app_fixture.type(ALT_X)
        await app_fixture.sees("There is no prompt to copy yet.")
        await app_fixture.asks("Are you there?", "Yes.")
        app_fixture.type(ALT_X)
        await app_fixture.until(lambda: copied("Are you there?") in app_fixture.written)
        app_fixture.type("a draft")
        await app_fixture.sees("a draft")
        app_fixture.type(ALT_X)
        await app_fixture.until(lambda: copied("a draft") in app_fixture.written)


@pytest.mark.parametrize(("program", "marks"), [("vscode", 2), ("Apple_Terminal", 0)])
async def test_prompts_are_marked_for_terminals_that_support_prompt_marks(
    tmp_path: Path, program: str, marks: int
) -> None:
    environ = {"TERM_PROGRAM": program}
    app_fixture = AppFixture(tmp_path, says("Yes."), says("No."), environ=environ, rows=40)
    async with app_fixture.running():
        await app_fixture.asks("one", "Yes.")
        await app_fixture.asks("two", "No.")
        assert app_fixture.written.count(PROMPT_MARK) == marks


def copied(text: str) -> str:
    """Return the start of the sequence that makes the terminal copy a text."""
    return f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}"
