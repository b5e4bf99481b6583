from __future__ import annotations

from pi.ai.messages import AssistantMessage, Text, UserMessage
from pi.coding.session.display import DisplayTranscript
from pi.modes.interactive.transcript.view import TranscriptView
from tests.modes.interactive.transcript.looks import look, plain


def conversation(turns: int, *, earlier: int = 0) -> DisplayTranscript:
    items: list[UserMessage | AssistantMessage] = []
    for number in range(turns):
        items.append(UserMessage(content=f"question {number}"))
        items.append(AssistantMessage(content=(Text(text=f"answer {number}"),)))
    return DisplayTranscript(items=tuple(items), earlier=earlier)


def test_a_stored_conversation_is_shown() -> None:
    view = TranscriptView(look())

    view.load(conversation(1))

    assert plain(view.component) == ["", "▌ question 0", "", " answer 0"]
    assert view.component.live_region_start is None


def test_a_divider_shows_the_number_of_messages_that_are_not_drawn() -> None:
    view, other = TranscriptView(look()), TranscriptView(look())

    view.load(conversation(1, earlier=1_234))
    other.load(conversation(1, earlier=1))

    assert plain(view.component)[1].startswith("── 1,234 earlier messages ──")
    assert plain(view.component)[-1] == " answer 0"
    assert plain(other.component)[1].startswith("── 1 earlier message ──")


def test_unfolding_shows_more_of_a_long_conversation_above_what_was_loaded() -> None:
    view, counts = TranscriptView(look()), list[int | None]()
    first = DisplayTranscript(items=(UserMessage(content="first"),))
    middle = DisplayTranscript(items=(UserMessage(content="second"),), earlier=1, end=7)
    end = DisplayTranscript(items=(UserMessage(content="third"),), earlier=2, end=8)

    def earlier(count: int | None) -> DisplayTranscript:
        counts.append(count)
        return middle if count == 8 else first

    def rows() -> list[str]:
        return [row.rstrip("─ ") for row in plain(view.component) if row]

    view.load(end, earlier)
    view.notice("since then")
    assert rows() == ["── 2 earlier messages (ctrl+o for more)", "▌ third", " since then"]
    view.toggle_expanded()
    assert rows()[:3] == ["── 1 earlier message (ctrl+o for more)", "▌ second", "▌ third"]
    view.toggle_expanded()
    assert counts == [8]
    view.toggle_expanded()
    assert rows() == ["▌ first", "▌ second", "▌ third", " since then"]
    view.toggle_expanded()
    view.toggle_expanded()
    assert counts == [8, 7]


def test_clearing_removes_the_conversation() -> None:
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
