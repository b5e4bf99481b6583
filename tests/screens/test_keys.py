from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest

from pi.testing import calls, says
from pi.tui.component import PROMPT_MARK
from tests.modes.interactive.theatre import Theatre

CTRL_C, CTRL_D, CTRL_G, CTRL_O, CTRL_P, ESCAPE = "\x03", "\x04", "\x07", "\x0f", "\x10", "\x1b"
ALT_ENTER, ALT_UP, SHIFT_TAB = "\x1b[13;3u", "\x1b[1;3A", "\x1b[Z"
ALT_L, ALT_X = "\x1b[108;3u", "\x1b[120;3u"


async def test_ctrl_c_clears_the_editor_and_leaves_when_pressed_twice(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("something")
        await theatre.sees("something")
        theatre.type(CTRL_C)
        await theatre.loses("something")
        assert not theatre.app.has_ended
        theatre.type(CTRL_C)
        await theatre.until(lambda: theatre.app.has_ended)


async def test_ctrl_c_in_an_empty_editor_shows_for_a_moment_that_another_one_exits(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type(CTRL_C)
        await theatre.sees("Press Ctrl+C again to exit")
        await theatre.clock.advance(1.4)
        await theatre.quiet()
        assert "Press Ctrl+C again to exit" in theatre.screen
        await theatre.clock.advance(0.2)
        await theatre.loses("Press Ctrl+C again to exit")
        theatre.type(CTRL_C)
        await theatre.sees("Press Ctrl+C again to exit")
        assert not theatre.app.has_ended
        theatre.type(CTRL_C)
        await theatre.until(lambda: theatre.app.has_ended)


async def test_any_other_key_ends_the_hint_that_ctrl_c_exits(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type(CTRL_C)
        await theatre.sees("Press Ctrl+C again to exit")
        theatre.type("x")
        await theatre.loses("Press Ctrl+C again to exit")
        theatre.type(CTRL_C)
        await theatre.until(lambda: "\nx\n" not in theatre.screen)
        assert not theatre.app.has_ended


async def test_ctrl_c_in_an_empty_editor_interrupts_the_run_and_then_exits(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.type("not this")
        await theatre.sees("not this")
        theatre.type(CTRL_C)
        await theatre.loses("not this")
        await theatre.quiet()
        assert "Running bash" in theatre.screen
        await theatre.clock.advance(1.0)
        theatre.type(CTRL_C)
        await theatre.sees("aborted")
        await theatre.sees("Press Ctrl+C again to exit")
        await theatre.rests()
        assert not theatre.app.has_ended
        theatre.type(CTRL_C)
        await theatre.until(lambda: theatre.app.has_ended)


async def test_ctrl_c_after_an_interruption_clears_what_returned_to_the_editor(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.send("and be quick")
        await theatre.sees("Steering: and be quick")
        await theatre.clock.advance(1.0)
        theatre.type(CTRL_C)
        await theatre.sees("aborted")
        await theatre.until(lambda: "\nand be quick\n" in theatre.screen)
        await theatre.loses("again to exit")  # it would clear what returned
        theatre.type(CTRL_C)
        await theatre.until(lambda: "\nand be quick\n" not in theatre.screen)
        assert not theatre.app.has_ended


async def test_ctrl_c_clears_the_text_although_suggestions_are_open(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("/mo")
        await theatre.sees("Select model")
        theatre.type(CTRL_C)
        await theatre.loses("Select model")
        await theatre.loses("/mo")
        theatre.type("hello")
        await theatre.until(lambda: "\nhello\n" in theatre.screen)


async def test_what_ctrl_c_cleared_is_found_with_up(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("something")
        theatre.type(CTRL_C)
        await theatre.loses("something")
        theatre.type("\x1b[A")
        await theatre.sees("something")


@pytest.mark.behaviour("ctrl-d-deletes-forward")
async def test_ctrl_d_deletes_forward_and_leaves_only_an_empty_editor(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("xy")
        theatre.type("\x01")
        theatre.type(CTRL_D)
        await theatre.until(lambda: "\ny\n" in theatre.screen)
        assert not theatre.app.has_ended
        theatre.type(CTRL_D)
        theatre.type(CTRL_D)
        await theatre.until(lambda: theatre.app.has_ended)


async def test_escape_stops_the_agent_and_gives_queued_messages_back(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.send("and be quick")
        await theatre.sees("Steering: and be quick")
        theatre.type("half a thought")
        theatre.type(ESCAPE)
        await theatre.sees("aborted")
        await theatre.rests()
        assert "Steering:" not in theatre.screen
        assert "and be quick\n\nhalf a thought" in theatre.screen
        assert "Never said" not in theatre.tape


async def test_a_message_sent_while_the_agent_works_steers_it(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Both done."))
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.send("also this")
        await theatre.sees("Steering: also this")
        await gate.open("opened")
        await theatre.sees("▌ also this")
        await theatre.sees("Both done.")
        assert "Steering:" not in theatre.screen


async def test_alt_enter_queues_a_follow_up_and_alt_up_takes_it_back(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.type("later")
        theatre.type(ALT_ENTER)
        await theatre.sees("Follow-up: later")
        theatre.type(ALT_UP)
        await theatre.loses("Follow-up: later")
        await theatre.until(lambda: "\nlater\n" in theatre.screen)
        await gate.open()
        await theatre.sees("Done.")


async def test_alt_enter_sends_what_nothing_has_to_wait_for_and_ends_notices(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    async with theatre.playing():
        theatre.type(CTRL_C)
        await theatre.sees("Press Ctrl+C again to exit")
        theatre.type("hello")
        theatre.type(ALT_ENTER)
        await theatre.sees("Yes.")
        await theatre.loses("Press Ctrl+C again")


async def test_escape_twice_on_an_empty_editor_opens_the_tree(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type(ESCAPE)
        await theatre.quiet()
        theatre.type(ESCAPE)
        await theatre.until(lambda: theatre.commands.ran == [("tree", "")])  # type: ignore[union-attr]


async def test_escape_closes_suggestions_before_anything_else(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("/")
        await theatre.sees("Select model")
        theatre.type(ESCAPE)
        await theatre.loses("Select model")
        await theatre.until(lambda: "\n/\n" in theatre.screen)


async def test_shift_tab_changes_how_much_the_model_thinks(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        await theatre.sees("faux • medium")
        theatre.type(SHIFT_TAB)
        await theatre.sees("faux • high")
        await theatre.sees("Thinking: high")


async def test_ctrl_p_without_another_model_reports_it(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        await theatre.sees("(faux) faux")
        theatre.type(CTRL_P)
        await theatre.until(
            lambda: "Only one model" in theatre.screen or "Model:" in theatre.screen
        )


async def test_ctrl_z_gives_the_terminal_back_and_the_screen_returns(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("a draft")
        await theatre.sees("a draft")
        theatre.type("\x1a")
        await theatre.until(lambda: theatre.terminal.suspended == 1)
        await theatre.sees("a draft")


@pytest.mark.behaviour("external-editor")
async def test_the_external_editor_gets_the_terminal_whole_and_the_screen_comes_back(
    tmp_path: Path,
) -> None:
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        "path = Path(sys.argv[2])\nassert sys.argv[1] == '--wait'\n"
        "path.write_text(path.read_text() + ' and edited\\n')\n"
    )
    theatre = Theatre(tmp_path, environ={})
    theatre.stage.write(
        ".pi/agent/settings.json",
        f'{{"externalEditor": "\\"{sys.executable}\\" \\"{script}\\" --wait"}}',
    )
    async with theatre.playing():
        theatre.type("written here")
        await theatre.sees("written here")
        theatre.type(CTRL_G)
        await theatre.sees("written here and edited")
        restored = "".join(theatre.terminal.output)
        assert restored.count("\x1b[?2004l") == 1
        assert restored.count("\x1b[?2004h") == 2


async def test_an_editor_that_fails_changes_nothing(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/settings.json", '{"externalEditor": "false"}')
    async with theatre.playing():
        theatre.type("written here")
        theatre.type(CTRL_G)
        await theatre.sees("the text is unchanged")
        await theatre.sees("\nwritten here\n")


async def test_a_terminal_that_vanishes_ends_the_application(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.terminal.vanish()
        await theatre.until(lambda: theatre.app.has_ended)


async def test_a_key_draws_the_screen_again(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    async with theatre.playing():
        await theatre.asks("Are you there?", "Yes.")
        theatre.terminal.write("\x1b[HSOMETHING ELSE")  # another program writes to the terminal
        assert "SOMETHING ELSE" in theatre.screen
        theatre.type(ALT_L)
        await theatre.loses("SOMETHING ELSE")
        assert theatre.tape.count("Are you there?") == 1


async def test_a_key_copies_the_prompt_or_the_last_one(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    async with theatre.playing():
        theatre.type(ALT_X)
        await theatre.sees("There is no prompt to copy yet.")
        await theatre.asks("Are you there?", "Yes.")
        theatre.type(ALT_X)
        await theatre.until(lambda: copied("Are you there?") in theatre.written)
        theatre.type("a draft")
        await theatre.sees("a draft")
        theatre.type(ALT_X)
        await theatre.until(lambda: copied("a draft") in theatre.written)


@pytest.mark.parametrize(("program", "marks"), [("vscode", 2), ("Apple_Terminal", 0)])
async def test_terminals_can_jump_to_prompts(tmp_path: Path, program: str, marks: int) -> None:
    environ = {"TERM_PROGRAM": program}
    theatre = Theatre(tmp_path, says("Yes."), says("No."), environ=environ, rows=40)
    async with theatre.playing():
        await theatre.asks("one", "Yes.")
        await theatre.asks("two", "No.")
        assert theatre.written.count(PROMPT_MARK) == marks


def copied(text: str) -> str:
    """Makes the terminal copy a text."""
    return f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}"
