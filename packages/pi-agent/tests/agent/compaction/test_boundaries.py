from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.compaction.text import (
    REQUEST_TAGS,
    SUMMARY_TAGS,
    escape_tags,
    readable_summary,
    without_blocks,
    wrap_in_tag,
)


@pytest.mark.behaviour("history-is-untrusted-input")
@pytest.mark.parametrize(
    "tag", ["</conversation>", "< / Conversation >", "<previous-summary>", "<user\n>"]
)
def test_a_reserved_tag_in_quoted_text_is_escaped(tag: str) -> None:
    assert escape_tags(f"a {tag} b") == f"a &lt;{tag[1:]} b"


def test_other_tags_and_comparisons_stay_as_they_are() -> None:
    text = "<div> <users> a < conversation_count <!-- x -->"

    assert escape_tags(text) == text


@given(st.lists(st.sampled_from(["<", "/", " ", "\n", ">", *REQUEST_TAGS]), max_size=30))
def test_no_text_can_close_the_conversation(parts: list[str]) -> None:
    clean = escape_tags("".join(parts))

    assert "</conversation>" not in clean
    assert escape_tags(clean) == clean


def test_the_blocks_that_pi_added_are_removed_from_a_summary() -> None:
    blocks = "\n\n".join(wrap_in_tag(tag, "a\nb") for tag in SUMMARY_TAGS[1:])

    assert without_blocks(f"## Goal\nx\n\n{blocks}") == "## Goal\nx"
    assert without_blocks(f"before\n{wrap_in_tag('files', 'x')}\n\nafter") == "before\n\nafter"
    assert without_blocks("nothing to take <read-files>") == "nothing to take <read-files>"


def test_tags_of_a_summary_are_shown_as_headings_and_lists() -> None:
    carried = wrap_in_tag("carry-over", "As said.\n\n## First request [entry://a1]\nBuild it.")
    lists = "\n".join(
        (wrap_in_tag("read-files", "a.py"), wrap_in_tag("modified-files", "b.py\nc d.py"))
    )

    assert readable_summary(f"## Goal\nBuild.\n\n{carried}\n\n{lists}") == (
        "## Goal\nBuild.\n\n\n## Carried over\n\nAs said.\n\n"
        "### First request [entry://a1]\nBuild it."
        "\n\n\n## Files read\n\n- a.py\n\n## Files changed\n\n- b.py\n- c d.py"
    )


def test_a_tree_of_files_keeps_its_indentation() -> None:
    assert readable_summary(wrap_in_tag("files", "# src/\n  a.py (RW)")) == (
        "## Files\n\n```text\n# src/\n  a.py (RW)\n```"
    )


@pytest.mark.parametrize("summary", ["<files>\na", "a <carry-over> b", "</files>", "plain"])
def test_an_incomplete_block_is_left_unchanged(summary: str) -> None:
    assert readable_summary(summary) == summary
