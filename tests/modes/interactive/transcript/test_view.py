from __future__ import annotations

from pi.ai.messages import (
    AssistantMessage,
    SystemMessage,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.coding.session.messages import SessionMessage
from pi.modes.interactive.transcript.view import MOST_LOADED, TranscriptView
from tests.modes.interactive.transcript.looks import look, plain


def conversation(turns: int) -> list[SessionMessage]:
    messages: list[SessionMessage] = [SystemMessage(content="be kind")]
    for number in range(turns):
        messages.append(UserMessage(content=f"question {number}"))
        messages.append(AssistantMessage(content=(Text(text=f"answer {number}"),)))
    return messages


def test_a_conversation_of_before_is_shown_without_instructions() -> None:
    view = TranscriptView(look())

    view.load(conversation(1))

    assert plain(view.component) == ["", "▌ question 0", "", " answer 0"]
    assert view.component.live_region_start is None


def test_of_a_long_conversation_the_end_is_shown() -> None:
    view = TranscriptView(look())

    view.load(conversation(MOST_LOADED))

    rows = plain(view.component)
    assert rows[1].startswith(f"── {MOST_LOADED} earlier messages ──")
    assert rows[-1] == f" answer {MOST_LOADED - 1}"
    assert sum(bool(row) for row in rows) == MOST_LOADED + 1


def test_what_is_shown_never_begins_with_the_result_of_a_call_that_is_not() -> None:
    asked = ToolCall(id="1", name="bash", arguments={"command": "make all"})
    result = ToolResultMessage(
        tool_call_id="1", tool_name="bash", content=(Text(text="built"),), is_error=False
    )
    rest = [UserMessage(content=f"question {number}") for number in range(MOST_LOADED - 1)]
    view = TranscriptView(look())

    view.load([UserMessage(content="first"), AssistantMessage(content=(asked,)), result, *rest])

    rows = plain(view.component)
    assert rows[1].startswith("── 1 earlier message ──")
    assert rows[3] == " ✓ $ make all"


def test_another_conversation_takes_the_place_of_this_one() -> None:
    view = TranscriptView(look())
    view.load(conversation(2))

    view.clear()
    view.notice("fresh")

    assert plain(view.component) == ["", " fresh"]


def test_everything_is_unfolded_at_once_and_folded_again() -> None:
    view = TranscriptView(look())
    block = view.begin_bash("seq", is_excluded=False)
    block.append("".join(f"{number}\n" for number in range(30)))

    folded = len(plain(view.component))
    assert view.toggle_expanded()
    assert len(plain(view.component)) == 32
    assert not view.toggle_expanded()
    assert len(plain(view.component)) == folded
