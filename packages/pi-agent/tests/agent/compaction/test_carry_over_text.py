from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.agent.compaction.budget import estimate_tokens
from pi.agent.compaction.carry_over import CarryOver, NextAction, OpenTask, Quote
from pi.agent.compaction.carry_over_text import _SHARES, CarryOverText, allot_tokens, fit_carry_over
from pi.agent.compaction.file_lists import FileLists
from pi.base.records import replace

CARRIED = CarryOver(
    first=Quote(id="1", text="Build a parser. Never use regex."),
    latest=Quote(id="5", text="Go on."),
    messages=(Quote(id="2", text="What about speed?"), Quote(id="3", text="Always test.")),
    instructions=(
        Quote(id="1", text="Never use regex."),
        Quote(id="3", text="Always test."),
    ),
    tasks=(OpenTask(id="4", text="write docs"),),
    next_action=NextAction(id="4", text="Next: docs", announced=True),
    unshown=("0",),
)
FILES = FileLists(read_files=("a.py",), modified_files=("b.py",))


def test_text_that_fits_is_shown_in_full_and_nothing_is_repeated() -> None:
    carried = replace(CARRIED, messages=CARRIED.messages[:1])

    assert fit_carry_over(CARRIED, FILES, 3000) == CarryOverText(
        carried=carried,
        text="""\
<carry-over>
Word for word from before this point. Where the notes above say otherwise, this holds.

## First request [entry://1]
Build a parser. Never use regex.

## Other messages of the user
- What about speed? [entry://2]

## Latest request [entry://5]
Go on.

## Instructions that hold
- Always test. [entry://3]

## Open tasks
- [ ] write docs [entry://4]

## Next action, as announced
Next: docs

## More, readable as entry://ID
Entries: 0
</carry-over>

<read-files>
a.py
</read-files>
<modified-files>
b.py
</modified-files>""".replace("as announced\n", "as announced [entry://4]\n"),
    )


def test_an_empty_carry_over_has_no_text() -> None:
    assert fit_carry_over(CarryOver(), FileLists(), 3000) == CarryOverText(
        carried=CarryOver(), text=""
    )
    assert fit_carry_over(CarryOver(), FILES, 3000).text.startswith("<read-files>")


def test_with_few_tokens_instructions_are_shown_first_and_the_rest_is_still_carried() -> None:
    remembered = replace(CARRIED, messages=CARRIED.messages[:1])

    assert fit_carry_over(CARRIED, FILES, 50) == CarryOverText(
        carried=remembered,
        text="""\
<carry-over>
## Instructions that hold
- Never use regex. [entry://1]
- Always test. [entry://3]

## Open tasks
- [ ] write docs [entry://4]
</carry-over>

<modified-files>
b.py
</modified-files>""",
    )
    assert fit_carry_over(CARRIED, FileLists(), 22) == CarryOverText(
        carried=remembered,
        text="""\
<carry-over>
## Instructions that hold
- Always test. [entry://3]
</carry-over>""",
    )


def test_without_room_for_an_instruction_the_files_that_fit_are_shown() -> None:
    files = FileLists(read_files=("a.txt",))
    carried = CarryOver(instructions=(Quote(id="1", text="Never use regex. " * 9),))

    assert fit_carry_over(carried, files, 12).text == "<read-files>\na.txt\n</read-files>"
    assert fit_carry_over(carried, FileLists(), 40).text == (
        "<carry-over>\n## More, readable as entry://ID\nEntries: 1\n</carry-over>"
    )
    assert fit_carry_over(carried, files, 1).text == ""


def test_a_long_request_is_truncated_with_its_entry_id_and_its_instructions_are_listed() -> None:
    order = Quote(id="1", text="Never use regex.")
    long = Quote(id="1", text="x" * 50_000 + order.text + "y" * 50_000)
    carried = CarryOver(first=long, instructions=(order,))

    once = fit_carry_over(carried, FileLists(), 300)
    twice = fit_carry_over(once.carried, FileLists(), 300)

    assert "see entry://1" in once.text
    assert "- Never use regex. [entry://1]" in once.text
    assert once.text.endswith("Entries: 1\n</carry-over>")
    assert once.carried.first is not None
    assert not once.carried.first.whole
    assert twice == once


def test_the_newest_messages_are_shown_and_the_rest_becomes_ids() -> None:
    messages = tuple(Quote(id=f"m{number}", text="word " * 60) for number in range(50))

    result = fit_carry_over(CarryOver(messages=messages), FileLists(), 500)

    shown = [message.id for message in result.carried.messages]
    assert shown == ["m45", "m46", "m47", "m48", "m49"]
    assert result.carried.unshown == tuple(f"m{number}" for number in range(45))
    assert "m44\n</carry-over>" in result.text.replace(" and", "\nand")


def test_a_very_long_message_between_first_and_latest_is_listed_by_id_only() -> None:
    messages = (Quote(id="1", text="x" * 700), Quote(id="2", text="short"))

    assert fit_carry_over(CarryOver(messages=messages), FileLists(), 3000).carried == CarryOver(
        messages=messages[1:], unshown=("1",)
    )


def test_ids_that_do_not_fit_are_counted() -> None:
    unshown = tuple(f"{number:08x}" for number in range(400))

    text = fit_carry_over(CarryOver(unshown=unshown), FileLists(), 200).text

    assert text.endswith("0000018d 0000018e 0000018f and 331 older ones\n</carry-over>")


QUOTES = st.builds(Quote, id=st.text("0123456789abcdef", max_size=8), text=st.text(max_size=900))
LISTS = st.lists(QUOTES, max_size=12).map(tuple)
CARRY_OVERS = st.builds(
    CarryOver,
    first=st.none() | QUOTES,
    latest=st.none() | QUOTES,
    messages=LISTS,
    instructions=LISTS,
    tasks=st.lists(
        st.builds(OpenTask, id=st.just("t"), text=st.text(max_size=300)), max_size=12
    ).map(tuple),
    next_action=st.none()
    | st.builds(NextAction, id=st.just("n"), text=st.text(max_size=600), announced=st.booleans()),
    unshown=st.lists(st.text("0123456789abcdef", max_size=8), max_size=40).map(tuple),
)
PATHS = st.lists(st.text("abc/.", min_size=1, max_size=60), max_size=12).map(tuple)
FILE_LISTS = st.builds(FileLists, read_files=PATHS, modified_files=PATHS)


@given(carried=CARRY_OVERS, files=FILE_LISTS, tokens=st.integers(0, 1500))
def test_the_text_never_takes_more_than_its_tokens(
    carried: CarryOver, files: FileLists, tokens: int
) -> None:
    result = fit_carry_over(carried, files, tokens)

    assert estimate_tokens(result.text) <= tokens


@given(carried=CARRY_OVERS, files=FILE_LISTS, tokens=st.integers(150, 1500))
def test_a_fitted_first_request_is_not_truncated_again(
    carried: CarryOver, files: FileLists, tokens: int
) -> None:
    once = fit_carry_over(carried, files, tokens)

    assert fit_carry_over(once.carried, files, tokens).carried.first == once.carried.first


@given(
    needs=st.fixed_dictionaries({name: st.integers(0, 3000) for name in _SHARES}),
    room=st.integers(0, 10_000),
)
def test_every_section_gets_its_share_and_none_more_than_it_needs(
    needs: dict[str, int], room: int
) -> None:
    granted = allot_tokens(needs, room)

    assert sum(granted.values()) <= room
    for name, share in _SHARES.items():
        assert min(needs[name], int(share * room)) <= granted[name] <= needs[name]
