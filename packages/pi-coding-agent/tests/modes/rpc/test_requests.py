from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pi.ai.messages import Image
from pi.base.json_lines import BadLine
from pi.modes.rpc.protocol import BadRequest, Request, answer_line, parse_request

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
UNKNOWN = {"type": "response", "success": False, "error": "Unknown command: undefined"}


def decoded(line: bytes) -> Request:
    request = parse_request(line)
    assert isinstance(request, Request)
    return request


def refused(line: bytes | BadLine) -> Any:
    answer = parse_request(line)
    assert isinstance(answer, bytes)
    return json.loads(answer)


@given(JSON)
def test_an_id_of_any_type_is_returned_unchanged(id: Any) -> None:
    request = decoded(json.dumps({"type": "x", "id": id}).encode())

    answer = json.loads(answer_line(request.id, request.command, data=1))
    assert list(answer.items()) == [
        ("id", id),
        ("type", "response"),
        ("command", "x"),
        ("success", True),
        ("data", 1),
    ]


def test_a_command_without_an_id_is_answered_without_one() -> None:
    request = decoded(b'{"type":"x"}\r')

    assert request == Request(command="x", fields={"type": "x"})
    assert answer_line(UNSET, "x") == b'{"type":"response","command":"x","success":true}\n'


@pytest.mark.parametrize("line", [b"null", b"[]", b"123", b'"x"', b"{}", b'{"type":null}'])
def test_a_line_without_a_command_is_an_unknown_command(line: bytes) -> None:
    assert refused(line) == UNKNOWN


def test_an_object_without_a_command_keeps_its_id() -> None:
    assert refused(b'{"id":[1],"type":7}') == {"id": [1], **UNKNOWN}


@pytest.mark.behaviour("replies-carry-ids")
@pytest.mark.parametrize(
    ("line", "id"),
    [
        (b'{"id":"a","type":oops', "a"),
        (b' { "id" : -12 , oops', -12),
        (b'{"type":oops,"id":"req_1"}', "req_1"),
        (b'{"type":oops,"id":"req_1"', "req_1"),
        (b'{"id":"q\\"uoted\\u00e9","type":oops', 'q"uotedé'),
        (b'{"id":"first","type":oops,"id":"last"}', "first"),
        (b'{"id":"a","message":"' + b"x" * 5000 + b"\xff", "a"),
        (b'{"message":"' + b"x" * 5000 + b'\xff","id":7}', 7),
    ],
)
def test_a_line_that_cannot_be_read_is_answered_with_the_id_at_its_ends(
    line: bytes, id: object
) -> None:
    answer = refused(line)

    assert (answer["id"], answer["command"], answer["success"]) == (id, "parse", False)
    assert answer["error"].startswith("Failed to parse command: ")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{bad json",
        b'{"id":1e400}',
        b'{"image":{"id":"x"},oops',
        b'{"id":"\\q",oops',
        b"\xff\xfe",
    ],
)
def test_a_line_without_a_readable_id_is_answered_without_one(line: bytes) -> None:
    assert refused(line).keys() == {"type", "command", "success", "error"}


def test_a_line_that_is_too_long_is_answered_with_the_reason() -> None:
    answer = refused(BadLine("The line is longer than 5 bytes", b"xxxxx"))

    assert answer["error"] == "Failed to parse command: The line is longer than 5 bytes"


@given(st.binary(max_size=200))
def test_any_line_is_parsed_or_answered_with_an_error(line: bytes) -> None:
    line = line.replace(b"\n", b"")

    answer = parse_request(line)
    assert isinstance(answer, Request) or json.loads(answer)["success"] is False


def test_fields_are_returned_with_their_types() -> None:
    request = Request(command="x", fields={"text": "t", "on": True, "none": None})

    assert (request.text("text"), request.flag("on")) == ("t", True)
    assert (request.optional_flag("on"), request.optional_flag("off")) == (True, False)
    assert (request.optional_text("text"), request.optional_text("none")) == ("t", None)


@pytest.mark.parametrize(
    ("fields", "words"),
    [({}, 'field "message" is missing'), ({"message": 7}, 'field "message" must be a string')],
)
def test_a_field_that_is_missing_or_wrong_is_named(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest) as raised:
        Request(command="prompt", fields=fields).text("message")

    assert raised.value.message == f'Command "prompt": {words}'


@pytest.mark.parametrize("fields", [{}, {"on": None}, {"on": "yes"}])
def test_a_missing_or_non_boolean_switch_is_rejected(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        Request(command="x", fields=fields).flag("on")


def test_pictures_are_read_or_refused() -> None:
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    good = Request(command="prompt", fields={"images": [picture]})
    assert good.images() == (Image(data="aGk=", mime_type="image/png"),)
    with pytest.raises(BadRequest):
        Request(command="prompt", fields={"images": [{"type": "image"}]}).images()
    assert Request(command="prompt", fields={"images": None}).images() == ()
