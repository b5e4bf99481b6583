from __future__ import annotations

from pi.ai.messages import SystemMessage
from pi.coding.export.text import NOTHING_TO_DUMP, render_text
from pi.coding.export.transcript import read_transcript
from tests.coding.export.sessions import HEADER, chain, message, said
from tests.coding.export.snapshots import actual, recorded


def test_the_sample_as_text() -> None:
    assert actual("sample.txt") == recorded("sample.txt")


def test_a_session_in_which_nothing_was_said_gives_no_text() -> None:
    silent = chain([message(SystemMessage(content="You help."))])

    assert render_text(read_transcript(HEADER, silent)) == ""
    assert NOTHING_TO_DUMP == "No messages to dump yet."


def test_nothing_in_the_text_commands_a_terminal() -> None:
    text = render_text(read_transcript(HEADER, chain([message(said("a\x1b]52;c;aGk=\x07b"))])))

    assert text == "Model: none\nThinking: off\n\n=== User ===\n\nab\n"
