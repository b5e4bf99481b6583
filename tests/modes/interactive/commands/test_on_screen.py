"""Commands in the real application, on terminals of several sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.ai.messages import ToolResultMessage
from pi.ai.providers.faux import Reply, call
from pi.coding.session.entries import ContextEdit, MessageEntry
from pi.coding.session.opening import open_session
from pi.testing import says
from tests.coding.session.sessions import make_location
from tests.modes.interactive.commands.playhouse import Playhouse, asked

DIALOGS = {
    "/tree": "Session Tree",
    "/model": "Model",
    "/thinking": "Thinking level",
    "/scoped-models": "Scoped models",
    "/resume": "Resume Session",
    "/theme": "Theme",
    "/fork": "Fork from a message",
    "/login": "Log in to",
}


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 12)])
async def test_every_dialog_is_seen_whole_and_goes_without_a_trace(
    tmp_path: Path, columns: int, rows: int
) -> None:
    async with asked(tmp_path, columns=columns, rows=rows) as play:
        for command, title in DIALOGS.items():
            play.send(command)
            await play.sees(f"\n {title}")
            play.type("\x03")  # one byte: no waiting for the rest of a sequence
            await play.loses(f" {title}")
    assert play.tape.count("a question") == 1


async def test_what_a_dialog_or_a_menu_has_pushed_away_comes_back(tmp_path: Path) -> None:
    answer = "\n\n".join(f"line {number}" for number in range(20))
    async with asked(tmp_path, answer) as play:
        before = play.screen
        play.send("/model")
        await play.sees("[All]")
        assert "line 13" not in play.screen
        play.type("\x03")
        await play.loses("[All]")
        play.type("/")
        await play.sees("(1/")
        play.type("\x7f")
        await play.loses("(1/")
        await play.quiet()

        assert play.screen == before
        assert [row.strip() for row in play.terminal.tape if "line " in row] == answer.split("\n\n")


@pytest.mark.behaviour("drafts-are-kept")
async def test_a_draft_survives_a_dialog_and_a_question_comes_back_for_another_try(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path) as play:
        play.type("my draft")
        await play.sees("my draft")
        play.type("\x0c")  # Ctrl+L: the model
        await play.sees("[All]")
        play.type("\x03")
        await play.loses("[All]")
        await play.sees("my draft")
        play.type("\x03")  # clears the draft
        await play.loses("my draft")
        play.send("/tree")
        await play.sees("Session Tree")
        play.type("\x1b[A\r")
        await play.sees("Summarize the branch you leave?")
        play.type("\r")
        await play.loses("an answer")
        await play.sees("a question")


async def test_debug_writes_what_is_shown(tmp_path: Path) -> None:
    async with asked(tmp_path) as play:
        play.send("/debug")
        await play.sees("Written to")
        text = (play.stage.agent_dir / "pi-debug.log").read_text()
        assert "▌" in text.partition("=== Messages ===")[0]
        assert "an answer" in text.partition("=== Messages ===")[0]


@pytest.mark.behaviour("dumps-carry-no-keys")
async def test_debug_hides_a_key_that_is_wrapped_over_several_rows(tmp_path: Path) -> None:
    key = "".join(f"{number:03}x" for number in range(30))
    play = Playhouse(tmp_path, says("an answer"), columns=40)
    entry = json.dumps({"groq": {"type": "api_key", "key": key}})
    play.stage.write(".pi/agent/auth.json", entry).chmod(0o600)
    async with play.playing():
        play.send(f"my key is {key} so")
        await play.rests()
        play.send("/debug")
        await play.sees("Written to")
        text = (play.stage.agent_dir / "pi-debug.log").read_text()
        assert "an answer" in text
        assert [part for at in range(100) if (part := key[at : at + 12]) in text][:1] == []


async def test_help_lists_commands_of_others_too(tmp_path: Path) -> None:
    play = Playhouse(tmp_path, rows=60)
    play.stage.write(".pi/agent/prompts/greet.md", "---\ndescription: say hello\n---\nHello")
    async with play.playing():
        play.send("/help")
        await play.until(lambda: "/greet" in play.tape and "say hello" in play.tape)


async def test_the_session_is_reported_without_charts(tmp_path: Path) -> None:
    words = ("first", "second", "third", "fourth", "fifth")
    play = Playhouse(tmp_path, *map(says, words), rows=40)
    async with play.playing():
        for each in words:
            play.send(each)
            await play.rests()
        play.send("/session")
        await play.sees("5 from you · 5 answers")
        assert "▁" not in play.screen and "█" not in play.screen
        play.send("/usage")
        await play.sees("the 5 requests, oldest first")


async def test_a_compaction_that_fails_is_reported_once(tmp_path: Path) -> None:
    async with asked(tmp_path) as play:
        play.send("/compact")
        await play.sees("Nothing to compact")
        await play.quiet()
        assert play.tape.count("Nothing to compact") == 1


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12)])
async def test_all_of_the_settings_dialog_fits_on_the_screen(
    tmp_path: Path, columns: int, rows: int
) -> None:
    async with asked(tmp_path, columns=columns, rows=rows) as play:
        play.send("/settings")
        await play.sees("Default provider")
        await play.sees("\n Settings\n")
        await play.sees("Type to search")


@pytest.mark.parametrize("command", [*DIALOGS, "/settings"])
async def test_what_is_selected_is_still_seen_when_the_screen_has_become_small(
    tmp_path: Path, command: str
) -> None:
    async with asked(tmp_path, columns=120, rows=40) as play:
        play.send(command)
        await play.sees("→ ")
        play.terminal.resize(40, 12)
        await play.until(lambda: play.app._frame.tui.is_painted)
        await play.sees("→ ")


SPOKEN = [
    *("▌ Always write tests. First question", " first answer", "▌ second question"),
    *(" ✓ $ echo hello from the shell", "   hello from the shell", " second answer"),
    *("▌ third question", " third answer", "── Compacted", "▌ fourth question", " fourth answer"),
]


def spoken(play: Playhouse) -> list[str]:
    """What of the conversation is on the tape, in order."""
    rows = play.tape.split("\n")
    found = [each for row in rows for each in SPOKEN if row.startswith(each)]
    return found[-len(SPOKEN) :]


async def compacted(tmp_path: Path) -> Path:
    """The file of a session with a compaction and a result that is pruned for the model."""
    play = Playhouse(
        tmp_path,
        says("first answer. " + "More words. " * 400),
        Reply(blocks=(call("bash", command="echo hello from the shell"),)),
        *(says("second answer"), says("third answer"), says("## Goal\nNotes.")),
        says("fourth answer"),
        rows=100,
    )
    async with play.playing():
        assert play.session is not None
        play.session.settings.override({"compaction.keepRecentTokens": 500})
        # Each answer is awaited: a prompt that is sent before the run ends would steer that run.
        await play.asks("Always write tests. First question", " first answer")
        await play.asks("second question", " second answer")
        await play.asks("third question", " third answer")
        play.send("/compact")
        await play.sees("── Compacted")
        await play.asks("fourth question", " fourth answer")
        assert spoken(play) == SPOKEN
        file = play.session.entries.log.file
    assert file is not None
    log = open_session(file, make_location(file.parent))
    entries = [each for each in log.branch() if isinstance(each, MessageEntry)]
    results = [each.id for each in entries if isinstance(each.message, ToolResultMessage)]
    log.append(ContextEdit(target_id=results[0], replacement={"content": "[Output truncated]"}))
    log.close()
    return file


async def test_what_was_compacted_or_pruned_stays_on_the_screen_when_a_session_is_resumed(
    tmp_path: Path,
) -> None:
    file = await compacted(tmp_path)
    resumed = Playhouse(
        tmp_path, rows=100, open_log=lambda location: open_session(file, location), model=None
    )
    async with resumed.playing():
        await resumed.sees("fourth answer")
        assert spoken(resumed) == SPOKEN
        assert "truncated" not in resumed.tape
        resumed.type("\x0f")  # Ctrl+O
        await resumed.sees("Carried over")
        assert "<carry-over>" not in resumed.tape
        resumed.type("\x0f")
        await resumed.loses("Carried over")
        resumed.send("/fork")
        await resumed.sees("Fork from a message")
        resumed.type("\r")
        await resumed.loses("fourth answer")
        await resumed.sees("fourth question")
        assert spoken(resumed)[-9:] == SPOKEN[:9]


async def test_what_was_compacted_stays_on_the_screen_after_a_move_in_the_tree(
    tmp_path: Path,
) -> None:
    file = await compacted(tmp_path)
    resumed = Playhouse(
        tmp_path, rows=100, open_log=lambda location: open_session(file, location), model=None
    )
    async with resumed.playing():
        await resumed.sees("fourth answer")
        resumed.send("/tree")
        await resumed.sees("Session Tree")
        resumed.type("\x1b[A\r")  # the question before the last answer
        await resumed.sees("Summarize the branch you leave?")
        resumed.type("\r")
        await resumed.loses("fourth answer")
        await resumed.quiet()
        assert spoken(resumed)[-9:] == SPOKEN[:9]


async def test_a_request_that_cannot_be_met_now_is_no_error(tmp_path: Path) -> None:
    async with Playhouse(tmp_path).playing() as play:
        play.send("/copy")
        await play.sees("! There is no answer to copy yet.")
