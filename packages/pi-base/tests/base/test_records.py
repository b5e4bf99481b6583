from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from pi.base.records import UNREADABLE, Record, replace


class Note(Record, tag="note"):
    body_text: str
    read_count: int = 0
    author: str | UnsetType = UNSET


def test_a_record_is_camel_case_on_the_wire_and_leaves_unset_fields_out() -> None:
    encoded = msgspec.json.encode(Note(body_text="hi"))

    assert encoded == b'{"type":"note","bodyText":"hi","readCount":0}'
    assert msgspec.json.decode(encoded, type=Note) == Note(body_text="hi")


def test_a_record_cannot_be_changed_only_replaced() -> None:
    note = Note(body_text="hi")

    with pytest.raises(AttributeError):
        note.body_text = "ho"  # type: ignore[misc]

    assert replace(note, author="me") == Note(body_text="hi", author="me")
    assert note == Note(body_text="hi")


def test_a_record_takes_its_fields_by_name_only() -> None:
    with pytest.raises(TypeError):
        Note("hi")  # type: ignore[call-arg]


def test_a_subclass_of_a_record_inherits_its_rules() -> None:
    class Signed(Note, tag="signed"):
        signed_by: str

    assert msgspec.json.encode(Signed(body_text="a", signed_by="b")) == (
        b'{"type":"signed","bodyText":"a","readCount":0,"signedBy":"b"}'
    )


@pytest.mark.parametrize(
    "data",
    [b"", b'{"type":"note"}', b'{"type":"note","bodyText":"\xff"}', b"[" * 100_000],
    ids=["no JSON", "another shape", "not UTF-8", "nested without end"],
)
def test_bytes_that_are_not_a_valid_record_are_unreadable(data: bytes) -> None:
    with pytest.raises(UNREADABLE):
        msgspec.json.decode(data, type=Note if len(data) < 100 else object)
