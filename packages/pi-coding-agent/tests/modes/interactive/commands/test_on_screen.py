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
from tests.modes.interactive.commands.full_app import FullApp, answered_app
from tests.sampling import sampled

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


@pytest.mark.parametrize(("columns", "rows"), sampled([(80, 24), (120, 40), (40, 12)], keep=1))
async def test_every_dialog_is_shown_and_leaves_no_rows_when_closed(
    tmp_path: Path, columns: int, rows: int
) -> None:
    async with answered_app(tmp_path, columns=columns, rows=rows) as hosted:
        for command, title in DIALOGS.items():
            hosted.send(command)
            await hosted.sees(f"\n {title}")
            hosted.type("\x03")  # one byte: no waiting for the rest of a sequence
            await hosted.loses(f" {title}")
    assert hosted.tape.count("a question") == 1


async def test_rows_hidden_by_a_dialog_or_a_menu_are_restored(tmp_path: Path) -> None:
    answer = "\n\n".join(f"line {number}" for number in range(20))
    async with answered_app(tmp_path, answer) as hosted:
        before = hosted.screen
        hosted.send("/model")
        await hosted.sees("[All]")
        assert "line 13" not in hosted.screen
        hosted.type("\x03")
        await hosted.loses("[All]")
        hosted.type("/")
        await hosted.sees("(1/")
        hosted.type("\x7f")
        await hosted.loses("(1/")
        await hosted.quiet()

        assert hosted.screen == before
        assert [row.strip() for row in hosted.terminal.tape if "line " in row] == answer.split(
            "\n\n"
        )


@pytest.mark.behaviour("drafts-are-kept")
async def test_a_draft_survives_a_dialog_and_the_tree_puts_a_prompt_back_into_the_editor(
    tmp_path: Path,
) -> None:
    async with answered_app(tmp_path) as hosted:
        hosted.type("my draft")
        await hosted.sees("my draft")
        hosted.type("\x0c")  # Ctrl+L: the model
        await hosted.sees("[All]")
        hosted.type("\x03")
        await hosted.loses("[All]")
        await hosted.sees("my draft")
        hosted.type("\x03")  # clears the draft
        await hosted.loses("my draft")
        hosted.send("/tree")
        await hosted.sees("Session Tree")
        hosted.type("\x1b[A\r")
        await hosted.sees("Summarize the branch you leave?")
        hosted.type("\r")
        await hosted.loses("an answer")
        await hosted.sees("a question")


async def test_debug_writes_the_rows_of_the_screen(tmp_path: Path) -> None:
    async with answered_app(tmp_path) as hosted:
        hosted.send("/debug")
        await hosted.sees("Written to")
        text = (hosted.fixture.agent_dir / "pi-debug.log").read_text()
        assert "▌" in text.partition("=== Messages ===")[0]
        assert "an answer" in text.partition("=== Messages ===")[0]


@pytest.mark.behaviour("dumps-carry-no-keys")
async def test_debug_hides_a_key_that_is_wrapped_over_several_rows(tmp_path: Path) -> None:
    key = "".join(f"{number:03}x" for number in range(30))
    hosted = FullApp(tmp_path, says("an answer"), columns=40)
    entry = json.dumps({"groq": {"type": "api_key", "key": key}})
    hosted.fixture.write(".pi/agent/auth.json", entry).chmod(0o600)
    async with hosted.running():
        hosted.send(f"my key is {key} so")
        await hosted.rests()
        hosted.send("/debug")
        await hosted.sees("Written to")
        text = (hosted.fixture.agent_dir / "pi-debug.log").read_text()
        assert "an answer" in text
        assert [part for start in range(100) if (part := key[start : start + 12]) in text][:1] == []


async def test_help_lists_prompt_templates_too(tmp_path: Path) -> None:
    hosted = FullApp(tmp_path, rows=60)
    hosted.fixture.write(".pi/agent/prompts/greet.md", "---\ndescription: say hello\n---\nHello")
    async with hosted.running():
        hosted.send("/help")
        await hosted.until(lambda: "/greet" in hosted.tape and "say hello" in hosted.tape)


async def test_the_session_is_reported_without_charts(tmp_path: Path) -> None:
    answers = ("first", "second", "third", "fourth", "fifth")
    hosted = FullApp(tmp_path, *map(says, answers), rows=40)
    async with hosted.running():
        for answer in answers:
            hosted.send(answer)
            await hosted.rests()
        hosted.send("/session")
        await hosted.sees("5 from you · 5 answers")
        assert "▁" not in hosted.screen and "█" not in hosted.screen
        hosted.send("/usage")
        await hosted.sees("the 5 requests, oldest first")


async def test_a_compaction_that_fails_is_reported_once(tmp_path: Path) -> None:
    async with answered_app(tmp_path) as hosted:
        hosted.send("/compact")
        await hosted.sees("Nothing to compact")
        await hosted.quiet()
        assert hosted.tape.count("Nothing to compact") == 1
        assert "✗" not in hosted.tape  # there was nothing to do: no error


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12)])
async def test_all_of_the_settings_dialog_fits_on_the_screen(
    tmp_path: Path, columns: int, rows: int
) -> None:
    async with answered_app(tmp_path, columns=columns, rows=rows) as hosted:
        hosted.send("/settings")
        await hosted.sees("Default provider")
        await hosted.sees("\n Settings\n")
        await hosted.sees("Type to search")


@pytest.mark.parametrize("command", sampled([*DIALOGS, "/settings"], keep=3))
async def test_the_selected_row_remains_visible_when_the_screen_becomes_small(
    tmp_path: Path, command: str
) -> None:
    async with answered_app(tmp_path, columns=120, rows=40) as hosted:
        hosted.send(command)
        await hosted.sees("→ ")
        hosted.terminal.resize(40, 12)
        await hosted.until(lambda: hosted.app._frame.tui.is_painted)
        await hosted.sees("→ ")


CONVERSATION = [
    *("▌ Always write tests. First question", " first answer", "▌ second question"),
    *(" ✓ $ echo hello from the shell", "   hello from the shell", " second answer"),
    *("▌ third question", " third answer", "── Compacted", "▌ fourth question", " fourth answer"),
]


def conversation(hosted: FullApp) -> list[str]:
    """The rows of the conversation on the tape, in order."""
    rows = hosted.tape.split("\n")
    labels = [label for row in rows for label in CONVERSATION if row.startswith(label)]
    return labels[-len(CONVERSATION) :]


async def compacted(tmp_path: Path) -> Path:
    """The file of a session with a compaction and a result that is pruned for the model."""
    hosted = FullApp(
        tmp_path,
        says("first answer. " + "More words. " * 400),
        Reply(blocks=(call("bash", command="echo hello from the shell"),)),
        *(says("second answer"), says("third answer"), says("## Goal\nNotes.")),
        says("fourth answer"),
        rows=100,
    )
    async with hosted.running():
        assert hosted.session is not None
        hosted.session.settings.override({"compaction.keepRecentTokens": 500})
        # Each answer is awaited: a prompt that is sent before the run ends would steer that run.
        await hosted.asks("Always write tests. First question", " first answer")
        await hosted.asks("second question", " second answer")
        await hosted.asks("third question", " third answer")
        hosted.send("/compact")
        await hosted.sees("── Compacted")
        await hosted.asks("fourth question", " fourth answer")
        assert conversation(hosted) == CONVERSATION
        file = hosted.session.entries.log.file
    assert file is not None
    log = open_session(file, make_location(file.parent))
    entries = [entry for entry in log.branch() if isinstance(entry, MessageEntry)]
    results = [entry.id for entry in entries if isinstance(entry.message, ToolResultMessage)]
    log.append(ContextEdit(target_id=results[0], replacement={"content": "[Output truncated]"}))
    log.close()
    return file


async def test_compacted_and_pruned_messages_are_shown_when_a_session_is_resumed(
    tmp_path: Path,
) -> None:
    file = await compacted(tmp_path)
    resumed = FullApp(
        tmp_path, rows=100, open_log=lambda location: open_session(file, location), model=None
    )
    async with resumed.running():
        await resumed.sees("fourth answer")
        assert conversation(resumed) == CONVERSATION
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
        assert conversation(resumed)[-9:] == CONVERSATION[:9]


async def test_compacted_messages_are_shown_after_a_move_in_the_tree(
    tmp_path: Path,
) -> None:
    file = await compacted(tmp_path)
    resumed = FullApp(
        tmp_path, rows=100, open_log=lambda location: open_session(file, location), model=None
    )
    async with resumed.running():
        await resumed.sees("fourth answer")
        resumed.send("/tree")
        await resumed.sees("Session Tree")
        resumed.type("\x1b[A\r")  # the question before the last answer
        await resumed.sees("Summarize the branch you leave?")
        resumed.type("\r")
        await resumed.loses("fourth answer")
        await resumed.quiet()
        assert conversation(resumed)[-9:] == CONVERSATION[:9]


async def test_copying_without_an_answer_is_a_warning_and_not_an_error(tmp_path: Path) -> None:
    async with FullApp(tmp_path).running() as hosted:
        hosted.send("/copy")
        await hosted.sees("! There is no answer to copy yet.")
