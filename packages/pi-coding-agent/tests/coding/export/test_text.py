from __future__ import annotations

from pi.ai.messages import SystemMessage
from pi.coding.export.html.page import render_page
from pi.coding.export.text import NOTHING_TO_DUMP, render_markdown, render_text
from pi.coding.export.transcript import read_transcript
from pi.coding.session.entries import BranchSummary, Compaction
from tests.coding.export.sessions import HEADER, chain, message, user_message
from tests.coding.export.snapshots import actual, recorded


def test_the_sample_text_matches_its_snapshot() -> None:
    assert actual("sample.txt") == recorded("sample.txt")


def test_a_session_without_messages_renders_no_text() -> None:
    silent = chain([message(SystemMessage(content="You help."))])

    assert render_text(read_transcript(HEADER, silent)) == ""
    assert NOTHING_TO_DUMP == "No messages to dump yet."


def test_terminal_control_sequences_are_removed_from_the_text() -> None:
    text = render_text(
        read_transcript(HEADER, chain([message(user_message("a\x1b]52;c;aGk=\x07b"))]))
    )

    assert text == "Model: none\nThinking: off\n\n=== User ===\n\nab\n"


def test_the_carry_over_of_a_compaction_is_rendered_without_its_tags() -> None:
    summary = "## Goal\nMend it.\n\n<carry-over>\n## Open tasks\n- [ ] test\n</carry-over>"
    entries = chain(
        [
            message(user_message("Mend it.")),
            Compaction(summary=summary, first_kept_id="", tokens_before=9),
            BranchSummary(from_id="e1", summary="Tried.\n\n<read-files>\na.py\n</read-files>"),
        ]
    )
    transcript = read_transcript(HEADER, entries)

    for written in (render_text(transcript), render_markdown(transcript), render_page(transcript)):
        assert "Carried over" in written
        assert "Files read" in written
        assert "carry-over" not in written
        assert "read-files" not in written
