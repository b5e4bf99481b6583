"""Commands about the session."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from msgspec import UNSET

from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.compaction.execution import CompactionPreview
from pi.coding.extension_host.events.answers import Cancel
from pi.coding.extension_host.events.queries import SessionBeforeSwitchEvent
from pi.modes.interactive.commands.session import preview_section
from pi.testing import calls, says
from tests.coding.runtime.session_fixture import kinds
from tests.modes.interactive.commands.command_fixture import at_work, command_fixture
from tests.modes.interactive.commands.full_app import FullApp


async def test_new_begins_a_session_and_shows_it(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        before = on.session.session_id
        await on.run("/new")
        assert on.session.session_id != before
        assert on.last_notice == "New session started"


async def test_an_extension_can_cancel_new(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        on.fixture.bus.subscribe(SessionBeforeSwitchEvent, lambda question: Cancel(cancel=True))
        before = on.session.session_id
        await on.run("/new")
        assert on.session.session_id == before
        assert on.screen.notices == [("warning", "Cancelled by an extension.")]


async def test_fork_puts_the_message_into_the_editor(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a"), says("b")) as on:
        await on.session.prompts.prompt("first")
        await on.session.prompts.prompt("second")
        await on.run("/fork", "enter")
        assert on.screen.editor_text == "second"
        assert kinds(on.session).count("user") == 1
        assert on.last_notice == "Forked to a new session"


async def test_fork_with_the_id_of_a_message_opens_no_dialog(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a"), says("b")) as on:
        await on.session.prompts.prompt("first")
        await on.session.prompts.prompt("second")
        first, second = on.session.info.fork_points()
        await on.run(f"/fork {second.entry_id}")
        assert (on.screen.editor_text, kinds(on.session).count("user")) == ("second", 1)
        on.screen.editor_text = ""
        await on.run(f"/branch {first.entry_id[:6]}")
        assert (on.screen.editor_text, kinds(on.session).count("user")) == ("first", 0)


async def test_fork_with_an_unknown_id_reports_it(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a"), says("b")) as on:
        await on.session.prompts.prompt("first")
        before = on.session.session_id
        answer = json.loads(bytes(on.session.info.entries()[-1]))["id"]
        for id in ("nope", answer):
            with pytest.raises(PiError, match=f"No message has the id {id}"):
                await on.run(f"/fork {id}")
        assert on.session.session_id == before


@pytest.mark.parametrize(
    ("setting", "title"), [("tree", "Session Tree"), ("fork", "Fork from"), ("none", "Fork from")]
)
async def test_branch_opens_the_tree_or_the_messages_as_two_escapes_do(
    tmp_path: Path, setting: str, title: str
) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        on.session.settings.set({"doubleEscapeAction": setting})
        await on.session.prompts.prompt("first")
        task = on.start("/branch")
        await on.screen.wait_until_shown()
        assert title in on.screen.text(80)
        await on.screen.press("escape")
        await task


async def test_fork_without_messages_is_an_error(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        with pytest.raises(PiError, match="no message to fork from"):
            await on.run("/fork")


async def test_fork_and_clone_are_refused_while_the_agent_works(tmp_path: Path) -> None:
    async with at_work(tmp_path) as on:
        for command in ("/fork", "/clone"):
            with pytest.raises(PiError, match="agent is running"):
                await on.run(command)


async def test_clone_continues_in_a_copy_of_the_session(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        before, entries = on.session.session_file, kinds(on.session)
        await on.run("/clone")
        assert on.session.session_file != before
        assert kinds(on.session) == entries


async def test_resume_opens_the_chosen_session(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a"), says("b")) as on:
        await on.session.prompts.prompt("alpha")
        first = on.session.session_id
        await on.session.sessions.new()
        await on.session.prompts.prompt("beta")
        task = on.start("/resume")
        await on.screen.type("alpha")
        await on.screen.press("enter")
        await task
        assert on.session.session_id == first
        assert on.last_notice == "Resumed session"


async def test_resuming_a_session_that_is_already_open_offers_a_fork(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a"), says("b")) as on:
        other = await on.fixture.open()
        await other.prompts.prompt("alpha")
        theirs = other.entries.log.file
        assert theirs is not None
        before, mine = theirs.read_bytes(), on.session.session_id
        for answer in (["down", "enter"], ["enter"]):
            assert on.session.session_id == mine
            task = on.start("/resume")
            await on.screen.until(lambda text: "alpha" in text)
            await on.screen.press("enter")
            await on.screen.until(lambda text: "Open a fork of the session?" in text)
            await on.screen.press(*answer)
            await task
        assert on.session.session_id not in (mine, other.session_id)
        assert kinds(on.session) == kinds(other)
        assert on.last_notice == "Forked to a new session"
        assert theirs.read_bytes() == before
        await other.close()


@pytest.mark.behaviour("missing-directory-on-resume")
async def test_resuming_a_session_whose_folder_is_gone_asks_for_confirmation(
    tmp_path: Path,
) -> None:
    async with command_fixture(tmp_path, says("a"), says("b")) as on:
        gone = on.fixture.home / "gone"
        gone.mkdir()
        other = await on.fixture.open(cwd=gone)
        await other.prompts.prompt("alpha")
        first = other.session_id
        await other.close()
        shutil.rmtree(gone)
        current_session = on.session.session_id
        for answer, expected in ((["down", "down", "enter"], current_session), (["enter"], first)):
            task = on.start("/resume")
            await on.screen.press("tab")
            await on.screen.until(lambda text: "alpha" in text)
            await on.screen.type("alpha")
            await on.screen.press("enter")
            await on.screen.until(lambda text: "gone no longer exists" in text)
            await on.screen.press(*answer)
            await task
            assert on.session.session_id == expected
        assert on.session.cwd == on.fixture.cwd


async def test_import_accepts_quoted_paths_and_opens_the_copy(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        path = on.fixture.home / "my session.jsonl"
        assert on.session.session_file is not None
        path.write_bytes(on.session.session_file.read_bytes().replace(b'"cwd":"', b'"cwd":"/x'))
        await on.run("/new")
        await on.run(f"/import '{path}'")
        assert "user" in kinds(on.session)
        assert on.last_notice == "Imported my session.jsonl"
        with pytest.raises(PiError):
            await on.run("/import nowhere.jsonl")
        with pytest.raises(PiError, match="No file given"):
            await on.run("/import")


async def test_a_name_is_set_and_shown(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        await on.run("/name")
        assert on.last_notice == "The session has no name."
        await on.run("/name My work")
        assert on.session.state.session_name == "My work"
        assert on.last_notice == "Session name: My work"


async def test_session_shows_where_it_is_and_how_long(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        await on.run("/session")
        reported = on.screen.printed(200)
        assert on.session.session_id in reported
        assert "1 from you · 1 answer · 0 tool calls" in reported
        assert "Cache warming  streaming" in reported


async def test_usage_shows_charts(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        await on.run("/usage")
        assert "faux/faux" in on.screen.printed()


async def test_compact_shortens_the_conversation(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a " * 3000), says("b"), says("## Summary")) as on:
        on.session.settings.override({"compaction.keepRecentTokens": 10})
        await on.session.prompts.prompt("long " * 3000)
        await on.session.prompts.prompt("short")
        await on.run("/compact about a")
        assert "compaction" in kinds(on.session)


@pytest.mark.parametrize(("answer", "is_compacted"), [("enter", True), ("escape", False)])
async def test_compact_shows_a_preview_and_asks(
    tmp_path: Path, answer: str, is_compacted: bool
) -> None:
    async with command_fixture(tmp_path, says("a" * 3000), says("b"), says("## Summary")) as on:
        on.session.settings.override({"compaction.keepRecentTokens": 10})
        await on.session.prompts.prompt("long " * 3000)
        await on.session.prompts.prompt("short")
        await on.run("/compact --preview", answer)

        assert ("compaction" in kinds(on.session)) == is_compacted


@pytest.mark.parametrize(
    ("kept", "expected"),
    [(1, "1 message, about 5 tokens"), (2, "2 messages, about 5 tokens")],
)
def test_a_compaction_preview_shows_the_number_of_kept_messages(kept: int, expected: str) -> None:
    plan = CompactionPreview(
        strategy="context",
        keeps="recent",
        tokens=12_000,
        threshold=90_000,
        dropped_messages=1,
        kept_messages=kept,
        kept_tokens=5,
        first_kept="short",
    )

    assert preview_section(plan).rows == (
        ("Strategy", "context"),
        ("In use", "12,000 tokens; compacted automatically above 90,000"),
        ("Dropped", "1 message, about 0 tokens"),
        ("Kept", expected),
        ("Kept from", "short"),
    )
    manual = preview_section(plan, is_automatic=False)
    assert manual.rows[1] == ("In use", "12,000 tokens; not compacted automatically")
    everything = preview_section(replace(plan, keeps="all", kept_messages=1))
    assert everything.rows[-1] == ("Kept", "all: 1 message; large tool results become notes")
    section = preview_section(replace(plan, problem="Too small."))
    assert section.rows[2:] == (("Problem", "Too small."),)


async def test_the_question_after_a_preview_does_not_repeat_it(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a" * 3000), says("b")) as on:
        on.session.settings.override({"compaction.keepRecentTokens": 10})
        await on.session.prompts.prompt("long " * 3000)
        await on.session.prompts.prompt("short")
        task = on.start("/compact --preview")
        await on.screen.until(lambda text: "Compact now?" in text)
        screen_text = on.screen.text()
        await on.screen.press("escape")
        await task

    assert "tokens" not in screen_text.partition("Compact now?")[2]


async def test_compact_rejects_an_unknown_strategy_and_treats_a_bare_word_as_instructions(
    tmp_path: Path,
) -> None:
    async with command_fixture(tmp_path, says("a" * 3000), says("b"), says("## Summary")) as on:
        on.session.settings.override({"compaction.keepRecentTokens": 10})
        await on.session.prompts.prompt("long " * 3000)
        await on.session.prompts.prompt("short")
        with pytest.raises(PiError, match="Unknown compaction strategy"):
            await on.run("/compact strategy:shaek")
        await on.run("/compact shake")

        assert "compaction" in kinds(on.session)
        assert "The user adds for these notes: shake" in str(on.fixture.provider.requests[-1])


async def test_the_tree_is_shown(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        await on.run("/tree", "escape")
        assert on.session.state.session_name is UNSET


async def test_context_shows_the_parts_of_the_window(tmp_path: Path) -> None:
    hosted = FullApp(tmp_path, calls("read", path="notes.txt"), says("Read."), rows=40)
    hosted.fixture.write("project/notes.txt", "word " * 4000)
    hosted.fixture.write(".pi/agent/AGENTS.md", "Always be brief. " * 100)
    async with hosted.running():
        hosted.send("/context")
        await hosted.sees("Free")
        before = _parts_of(hosted.screen)
        assert list(before) == [
            "System prompt", "Tools", "Instructions", "Messages", "Tool results", "Free"
        ]  # fmt: skip
        assert before["Messages"] == before["Tool results"] == "0"
        assert before["Instructions"] != "0" and before["Tools"] != "0"
        await hosted.asks("read it", "Read.")
        hosted.send("/context")
        await hosted.until(lambda: hosted.screen.count("Free") == 2)
        after = _parts_of(hosted.screen)
        assert after["Tool results"] != "0" and after["Messages"] != "0"
        assert "▚" in hosted.screen


def _parts_of(screen: str) -> dict[str, str]:
    """The sizes of the last table of parts."""
    rows = re.findall(r"^ [█▓▒▞▚·] (\w[\w ]*?) {2,}(\S+)", screen, re.MULTILINE)
    return dict(rows[-6:])
