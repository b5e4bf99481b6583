from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.messages import Image
from pi.ai.transcript import Instructions
from pi.base.records import replace
from pi.coding.export.redaction import Redactor
from pi.coding.session.entries import Entry, UnknownEntry
from tests.coding.export.sessions import (
    HEADER,
    PNG,
    READ,
    answered,
    called,
    came,
    message,
    sample,
    user_message,
)

SECRET = 'tiger "lily" é'


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        (f"key sk-ant-api03-{'a' * 40}.", "key [redacted]."),
        (f"ghp_{'a' * 36}", "[redacted]"),
        (f"github_pat_{'a' * 40}", "[redacted]"),
        (f"glpat-{'a' * 20}", "[redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE here", "id [redacted] here"),
        (f"AIza{'b' * 35}", "[redacted]"),
        ("xoxb-1234567890-abc", "[redacted]"),
        (
            "https://hooks.slack.com/services/T0/B0/xyz",
            "https://hooks.slack.com/services/[redacted]",
        ),
        (f"sk_live_{'a' * 24}", "[redacted]"),
        (f"npm_{'a' * 36}", "[redacted]"),
        (f"hf_{'a' * 34}", "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[redacted]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nend",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nend",
        ),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "-----BEGIN PRIVATE KEY-----[redacted]"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
        ('{"authorization": "basic dXNlcg=="}', '{"authorization": "basic [redacted]"}'),
        ("postgres://ada:hunter2@db/x", "postgres://ada:[redacted]@db/x"),
        ("MY_API_KEY=0123456789abcdef", "MY_API_KEY=[redacted]"),
        ("export DB_PASSWORD='correct-horse' x", "export DB_PASSWORD='[redacted]' x"),
    ],
)
def test_text_with_the_shape_of_a_key_is_redacted(text: str, harmless: str) -> None:
    assert Redactor().text(text) == harmless


@pytest.mark.parametrize(
    "text",
    [
        "task-list-of-the-whole-project-team",
        "see https://example.org:8080/path@v1",
        "MAX_TOKENS=123456789",
        "API_KEY=$OTHER_VARIABLE",
        "API_KEY=<your key here>",
        "key = get_key()",
        "sk-short",
        "the ghost of a chance",
    ],
)
def test_ordinary_text_is_not_redacted(text: str) -> None:
    assert Redactor().text(text) == text


def test_known_secrets_are_redacted_in_every_encoding() -> None:
    redactor = Redactor([SECRET, 'tiger "lily" é\'s cage', "abc"])

    assert redactor.text(f"a {SECRET} b") == "a [redacted] b"
    assert redactor.text('{"a": "tiger \\"lily\\" \\u00e9"}') == '{"a": "[redacted]"}'
    assert redactor.text("?q=tiger%20%22lily%22%20%C3%A9") == "?q=[redacted]"
    assert redactor.text('tiger "lily" é\'s cage') == "[redacted]"
    assert redactor.text("abc is too short to be a secret") == "abc is too short to be a secret"


def test_every_field_of_an_entry_is_redacted() -> None:
    redactor = Redactor([SECRET])
    answer = message(answered(f"say {SECRET}", called("c", "bash", env={SECRET: [SECRET]})))
    result = message(came("c", "bash", SECRET, details={"deep": [{"er": SECRET}]}))
    strange = UnknownEntry(data={"x": [SECRET]}, id="u", parent_id=None)

    assert [redactor.entry(entry) for entry in (answer, result, strange)] == [
        message(
            answered("say [redacted]", called("c", "bash", env={"[redacted]": ["[redacted]"]}))
        ),
        message(came("c", "bash", "[redacted]", details={"deep": [{"er": "[redacted]"}]})),
        UnknownEntry(data={"x": ["[redacted]"]}, id="u", parent_id=None),
    ]


def test_images_are_not_redacted() -> None:
    picture = message(user_message("look", Image(data=PNG, mime_type="image/png")))

    assert Redactor([PNG[:20]]).entry(picture) is picture


@pytest.mark.parametrize("entry", sample(), ids=lambda entry: entry.id)
def test_an_entry_without_secrets_is_not_changed(entry: Entry) -> None:
    assert Redactor([SECRET]).entry(entry) == entry


def test_the_header_and_the_instructions_are_redacted() -> None:
    redactor = Redactor([SECRET])
    instructions = Instructions(prompt=f"p {SECRET}", tools=(replace(READ, description=SECRET),))

    assert redactor.header(replace(HEADER, cwd=f"/{SECRET}", parent_session=SECRET)) == replace(
        HEADER, cwd="/[redacted]", parent_session="[redacted]"
    )
    assert redactor.header(HEADER) == HEADER
    assert redactor.instructions(instructions) == Instructions(
        prompt="p [redacted]", tools=(replace(READ, description="[redacted]"),)
    )


def test_a_secret_equal_to_a_keyword_of_the_format_is_redacted() -> None:
    entry = replace(message(user_message("hello")), id="a")

    assert Redactor(["message"]).entry(entry) == UnknownEntry(
        data={
            "type": "[redacted]",
            "id": "a",
            "parentId": None,
            "timestamp": "",
            "[redacted]": {
                "role": "user",
                "content": ({"type": "text", "text": "hello"},),
                "timestamp": 0,
            },
        },
        id="a",
        parent_id=None,
    )


@pytest.mark.parametrize(
    "piece", ["-eyJ", "a.", "://", "KEY", "://a:", "-----BEGIN PRIVATE KEY-----", "xoxb-", "sk-a "]
)
def test_redaction_of_any_text_is_fast(piece: str) -> None:
    text = "://=" + piece * (100_000 // len(piece))
    begin = time.process_time()

    Redactor(["known value"]).text(text)

    assert time.process_time() - begin < 2


@given(st.text(" .\n"), st.text('abé%"\\\ud800', min_size=6), st.text(" .\n"))
def test_a_known_secret_is_redacted_in_any_text(before: str, secret: str, after: str) -> None:
    assert Redactor([secret]).text(before + secret + after) == f"{before}[redacted]{after}"


@given(st.text())
def test_redaction_never_raises(text: str) -> None:
    Redactor(["known value"]).text(text)


def test_secrets_are_redacted_in_json_with_and_without_escapes_and_short_ones_are_kept() -> None:
    redactor = Redactor([SECRET, "short"])

    assert redactor.text(json.dumps(SECRET)) == '"[redacted]"'
    assert redactor.text(json.dumps(SECRET, ensure_ascii=False)) == '"[redacted]"'
    assert redactor.text("a short word") == "a short word"
