from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Image, SystemMessage, Text, Tool
from pi.ai.transcript import Instructions
from pi.base.records import replace
from pi.coding.export.transcript import (
    ROOT,
    content_text,
    read_instructions,
    read_transcript,
    strip_blank_lines,
    truncate_text,
)
from pi.coding.session.entries import Compaction, Entry, Label, SessionInfo, UnknownEntry
from tests.coding.export.sessions import (
    HEADER,
    READ,
    answered,
    called,
    came,
    chain,
    message,
    sample,
)
from tests.coding.export.sessions import user_message as user


def test_the_branch_is_the_path_to_the_leaf() -> None:
    assert read_transcript(HEADER, sample()).branch() == (*range(21), 23, 24, 25, 26)


def test_another_leaf_selects_another_branch() -> None:
    assert read_transcript(HEADER, sample(), leaf="e22").branch() == (*range(10), 21, 22)


def test_a_session_at_its_beginning_has_an_empty_branch() -> None:
    assert read_transcript(HEADER, sample(), leaf=None).branch() == ()
    assert read_transcript(HEADER, []).branch() == ()


def test_an_unknown_leaf_falls_back_to_the_last_entry() -> None:
    assert read_transcript(HEADER, sample(), leaf="gone").leaf == 26


def test_the_last_label_and_the_last_name_are_used() -> None:
    entries = chain(
        [
            message(user("hello")),
            Label(target_id="e0", label="first"),
            Label(target_id="e0", label="second\nline"),
            SessionInfo(name="old"),
            SessionInfo(name=" new\x1b[31m "),
        ]
    )

    transcript = read_transcript(HEADER, entries)

    assert (transcript.nodes[0].label, transcript.title) == ("second line", "new")


def test_a_removed_label_is_empty() -> None:
    entries = chain(
        [message(user("hello")), Label(target_id="e0", label="x"), Label(target_id="e0")]
    )

    assert read_transcript(HEADER, entries).nodes[0].label == ""


def test_an_unnamed_session_is_titled_with_its_first_message() -> None:
    drafts = [message(user(" \n")), message(user("Mend\nthe engine. " * 20))]
    begins = read_transcript(HEADER, chain(drafts))
    silent = read_transcript(HEADER, [])

    assert begins.title == "Mend the engine. " * 4 + "Mend the en…"
    assert silent.title == f"Session {HEADER.id}"


def test_results_are_found_below_their_calls_on_every_branch() -> None:
    call = message(answered(called("c", "read"), called("d", "read")))
    result = message(came("c", "read", "text"))
    entries = [
        *chain([call, result, message(came("d", "read", "more"))]),
        *chain([result], after="e0", first_number=3),
        *chain([call, result], after="e2", first_number=4),
    ]

    transcript = read_transcript(HEADER, entries)

    assert transcript.results == {(0, 0): (1, 3), (0, 1): (2,), (4, 0): (5,)}


def test_a_result_is_not_matched_to_a_call_on_another_branch() -> None:
    entries = [
        *chain([message(user("hello")), message(answered(called("c", "read")))]),
        *chain([message(came("c", "read", "text"))], after="e0", first_number=2),
    ]

    assert read_transcript(HEADER, entries).nodes[2].call is None


def test_a_missing_or_later_parent_is_replaced_by_the_root() -> None:
    entries: list[Entry] = [
        replace(message(user("a")), id="a", parent_id="b"),
        replace(message(user("b")), id="b", parent_id="a"),
        replace(message(user("c")), id="c", parent_id="gone"),
    ]

    transcript = read_transcript(HEADER, entries)

    assert [node.parent for node in transcript.nodes] == [ROOT, 0, ROOT]


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcdex"))))
def test_any_parent_links_produce_a_tree(links: list[tuple[str, str]]) -> None:
    entries = [UnknownEntry(data={}, id=id, parent_id=parent) for id, parent in links]

    transcript = read_transcript(HEADER, entries)

    assert all(node.parent < number for number, node in enumerate(transcript.nodes))
    assert len(transcript.branch()) <= len(entries)


@pytest.mark.behaviour("export-has-prompt-and-tools")
def test_prompt_and_tools_are_read_from_the_branch() -> None:
    transcript = read_transcript(HEADER, sample())

    assert transcript.instructions == Instructions(prompt="You help with code.", tools=(READ,))
    assert (transcript.model, transcript.thinking_level) == ("mock/mock-r", "medium")


def test_a_compaction_replaces_prompt_and_tools() -> None:
    write = Tool(name="write", description="", parameters={})
    branch: list[Entry] = [
        message(SystemMessage(content="old", tools_added=(READ,))),
        Compaction(
            summary="s",
            first_kept_id="",
            tokens_before=1,
            system_message=SystemMessage(content="new", tools_added=(READ,)),
        ),
        message(SystemMessage(content="", sections={"cwd": "here"}, tools_added=(write,))),
    ]

    assert read_instructions(branch) == Instructions(prompt="new\n\nhere", tools=(READ, write))


def test_given_instructions_override_those_of_the_branch() -> None:
    instructions = Instructions(prompt="live", tools=())

    assert read_transcript(HEADER, sample(), instructions=instructions).instructions == instructions


def test_an_empty_session_has_no_model_and_thinking_is_off() -> None:
    transcript = read_transcript(HEADER, [])

    assert (transcript.model, transcript.thinking_level) == ("", "off")


@pytest.mark.behaviour("export-matches-the-screen")
def test_blank_lines_around_a_text_are_removed_and_its_indentation_is_kept() -> None:
    assert strip_blank_lines("\n  \n\n    indented\n\n  more\n \n\n") == "    indented\n\n  more"
    assert strip_blank_lines(" \n\t\n") == ""


def test_images_are_replaced_by_a_note() -> None:
    picture = Image(data="", mime_type="image/png")

    assert content_text((Text(text="See:"), picture)) == "See:\n[image]"
    assert content_text("plain") == "plain"


def test_a_long_text_is_shortened() -> None:
    assert [truncate_text("abcdef", 6), truncate_text("abc defg", 5)] == ["abcdef", "abc…"]
