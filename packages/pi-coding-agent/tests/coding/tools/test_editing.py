from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.agent.tools.tool import ToolFailed
from pi.coding.tools.edit import Edit, apply_edits


def edited(text: str, *pairs: tuple[str, str], line_end: str = "\n") -> str:
    edits = [Edit(old_text=old, new_text=new) for old, new in pairs]
    return apply_edits(text, edits, path="f", line_end=line_end)


def problem(text: str, *pairs: tuple[str, str]) -> str:
    with pytest.raises(ToolFailed) as failed:
        edited(text, *pairs)
    return failed.value.message


def test_all_edits_are_matched_against_the_original_text() -> None:
    assert edited("a b c", ("a", "b"), ("c", "a"), ("b", "c")) == "b c a"


@pytest.mark.behaviour("edit-keeps-crlf-and-bom")
def test_new_lines_get_the_line_ending_of_the_file() -> None:
    assert edited("a\r\nb\r\n", ("b", "x\ny\r\nz"), line_end="\r\n") == "a\r\nx\r\ny\r\nz\r\n"


@pytest.mark.behaviour("fuzzy-edit-keeps-other-lines")
def test_lines_that_were_not_matched_keep_their_bytes() -> None:
    text = "“keep”  \r\nmixed\nsay “hi”  \nkeep—too\t\n"

    assert edited(text, ('say "hi"', "said")) == "“keep”  \r\nmixed\nsaid\nkeep—too\t\n"


@pytest.mark.behaviour("empty-file-can-be-edited")
def test_an_empty_text_is_edited_by_replacing_nothing() -> None:
    assert edited("", ("", "first\n")) == "first\n"
    assert problem("a", ("", "x")) == "oldText must not be empty in f."
    assert problem("a", ("a", "b"), ("", "x")) == "edits[1].oldText must not be empty in f."


@pytest.mark.behaviour("edit-failures-differ")
def test_missing_ambiguous_and_unchanged_text_have_different_messages() -> None:
    assert problem("abc", ("x", "y")) == (
        "Could not find the exact text in f. "
        "The old text must match exactly including all whitespace and newlines."
    )
    assert problem("a a", ("a", "y")) == (
        "Found 2 occurrences of the text in f. The text must be unique. "
        "Please provide more context to make it unique."
    )
    assert problem("abc", ("a", "a")).startswith(
        "No changes made to f. The replacement produced identical content."
    )
    assert problem("abc", ("a", "a"), ("b", "b")).startswith(
        "No changes made to f. The replacements produced identical content."
    )


@pytest.mark.behaviour("edit-failures-differ")
def test_a_failed_match_shows_the_most_similar_text() -> None:
    text = "import os\n\ndef compute(value):\n    return value * 2\n\nprint(1)\n"

    message = problem(text, ("def compute(values):\n    return values * 2\n", "x"))

    assert message.endswith(
        "\n\nThe most similar text is at line 3:\ndef compute(value):\n    return value * 2"
    )


@pytest.mark.full
def test_a_miss_in_a_huge_file_is_reported_quickly() -> None:
    text = "".join(f"line number {n} of many\n" for n in range(200_000))

    assert problem(text, ("line numbr 1234 of many", "x")).startswith("Could not find")


def test_edits_that_overlap_are_named_in_order() -> None:
    assert problem("abcd", ("cd", "x"), ("bc", "y")) == (
        "edits[0] and edits[1] overlap in f. Merge them into one edit or target disjoint regions."
    )
    assert edited("abcd", ("ab", "x"), ("cd", "y")) == "xy"


def test_an_empty_list_of_edits_is_rejected() -> None:
    assert problem("a").startswith("Edit tool input is invalid.")


@given(st.lists(st.text(alphabet="xyz\n“ ", max_size=5), min_size=1, max_size=5))
def test_only_what_is_matched_changes(parts: list[str]) -> None:
    text = "".join(f"<{n}>{part}" for n, part in enumerate(parts))

    changed = edited(text, *((f"<{n}>", f"[{n}]") for n in range(len(parts))))

    assert changed == "".join(f"[{n}]{part}" for n, part in enumerate(parts))
