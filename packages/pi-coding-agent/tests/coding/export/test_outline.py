from __future__ import annotations

from pi.coding.export.outline import OutlineRow, build_outline
from pi.coding.export.transcript import read_transcript
from pi.coding.session.entries import Entry
from tests.coding.export.sessions import (
    HEADER,
    answered,
    came,
    chain,
    message,
    sample,
    user_message,
)


def shown(entries: list[Entry]) -> list[str]:
    """The outline as lines, indented by forks."""
    rows = build_outline(read_transcript(HEADER, entries)).values()
    return [f"{'  ' * row.depth}{row.node} {row.kind}: {row.text}" for row in rows]


def test_the_outline_has_a_row_for_each_separately_drawn_entry() -> None:
    assert shown(sample()) == [
        "3 user: Why is `total` wrong? See the picture. [image]",
        "4 assistant: I look at the file first.",
        "7 assistant: edit src/engine.py",
        "9 assistant: The loop adds one element too many. **Two things** to know: 1. `range(n)` "
        "already stops before `n`…",
        "  11 bash: $ git status --short",
        "  12 divider: Compacted: 31,420 tokens",
        "  13 custom: [todo] Write a *test*.",
        "  19 user: Thank you. Now make it *fast*.",
        "  20 assistant: It is fast now.",
        "  23 divider: Left a branch: They thought about *C*.",
        "  24 user: Leave it in Python, then.",
        "  25 assistant: So be it.",
        "  21 user: Or rewrite it in C?",
        "  22 assistant: Rather not: it would have to be built everywhere.",
    ]


def test_entries_at_a_fork_list_their_siblings() -> None:
    rows = build_outline(read_transcript(HEADER, sample()))

    choices = {node: row.siblings for node, row in rows.items() if row.siblings}
    assert choices == {11: (11, 21), 21: (11, 21)}


def test_several_roots_are_siblings_too() -> None:
    entries = [
        *chain([message(user_message("a"))]),
        *chain([message(user_message("b"))], first_number=1),
    ]

    assert build_outline(read_transcript(HEADER, entries)) == {
        0: OutlineRow(node=0, depth=1, siblings=(0, 1), kind="user", text="a"),
        1: OutlineRow(node=1, depth=1, siblings=(0, 1), kind="user", text="b"),
    }


def test_a_result_without_a_call_has_a_row() -> None:
    assert shown(chain([message(came("c", "read", "text"))])) == ["0 tool: read text"]


def test_a_long_conversation_does_not_exceed_the_recursion_limit() -> None:
    entries = chain(message(answered("more")) for _ in range(5000))

    assert len(shown(entries)) == 5000
