"""The names of secrets, word by word, and forms that no other test has."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import AssistantMessage, ToolCall, UserMessage
from pi.batteries.secrets.names import is_secret_name
from pi.batteries.secrets.pictures import clean_image
from pi.batteries.secrets.random_values import is_random_secret
from pi.batteries.secrets.requests import Masking
from pi.batteries.secrets.sources import from_environment, parse_file, url_passwords
from pi.batteries.secrets.vault import PLACEHOLDER
from pi.extension import BadResource, Json, Model, ModelRequest, StreamOptions
from tests.batteries.secrets.test_forms import ENGINES, HEX, vault

MODEL = Model(id="m", name="M", api="a", provider="p")
LONG = """
secret token password passwd passphrase credential bearer oauth jwt apikey authkey accesskey
privatekey signingkey passcode mnemonic authorization dbpass smtppass mailpass userpass rootpass
"""
SHORT = "key keys pass pwd auth cookie cookies dsn pat pw creds cred otp totp"
WITHOUT = {
    "mykeyed": "key",
    "compass": "pass",
    "patrol": "pat",
    "author": "auth",
    "potpourri": "otp",
}


@ENGINES
@pytest.mark.parametrize("word", LONG.split())
def test_a_long_word_counts_within_a_name(word: str, engine: Any) -> None:
    name = f"MY{word.upper()}OF"

    assert is_secret_name(name, "abcdefgh")
    assert vault(engine=engine).mask(f"{name}=abcdefghij").startswith(f"{name}=<<$env:S")


@ENGINES
@pytest.mark.parametrize("word", SHORT.split())
def test_a_short_word_counts_between_separators(word: str, engine: Any) -> None:
    for name in (f"MY_{word}_OF".upper(), f"MY_{word}".upper()):
        assert is_secret_name(name, "abcdefgh")
        assert vault(engine=engine).mask(f"{name}=abcdefghij").startswith(f"{name}=<<$env:S")


@ENGINES
@pytest.mark.parametrize("name", WITHOUT)
def test_a_short_word_within_another_does_not_count(name: str, engine: Any) -> None:
    line = f"{name.upper()}=abcdefghij"
    assert not is_secret_name(name.upper(), "abcdefgh")
    assert vault(engine=engine).mask(line) == line


@ENGINES
def test_key_counts_at_the_end_of_a_word(engine: Any) -> None:
    assert "abc12345x" not in vault(engine=engine).mask("TS_ZZKEY=abc12345x")


@pytest.mark.parametrize("name", ["PWD", "OLDPWD", "SSH_AUTH_SOCK"])
def test_variables_of_the_shell_hold_no_secrets(name: str) -> None:
    for value in (HEX, "/home/me/project", "sk-abcdefghijklmnopqrst"):
        assert [*from_environment({name: value})] == []


def test_a_value_that_only_begins_like_a_key_is_none() -> None:
    assert [*from_environment({"NOTE": "sk-abcdefghijklmnopqrst is how a key looks"})] == []


def test_only_an_address_with_a_scheme_has_a_password() -> None:
    assert [*url_passwords("//me:hunter2hunter2@host")] == []
    assert [*url_passwords("a://me:hunter2hunter2@host")] == ["hunter2hunter2"]


def test_a_random_value_with_separators_is_found() -> None:
    assert is_random_secret("x", "aB3dE6gH9k/L2mN5pQ8rS1/tU4vW7xY0zA/3bC6dE9")
    assert not is_random_secret("x", "one/two3/Four/five6/Seven/eight9/Ten/eleven")


@pytest.mark.parametrize(("distinct", "expected"), [(12, True), (11, False)])
def test_a_named_value_is_random_with_twelve_different_letters(
    distinct: int, expected: bool
) -> None:
    value = ("1xyzabcdefghijk"[:distinct] * 4)[:40]
    assert len(set(value)) == distinct
    assert is_random_secret("API_TOKEN", value) is expected


@pytest.mark.parametrize("field", ["flags: 3", "replacement: 3"])
def test_a_field_of_another_type_is_refused(field: str) -> None:
    with pytest.raises(BadResource, match="must be texts"):
        parse_file(f"- type: regex\n  content: a\n  {field}\n", Path("secrets.yml"))


@ENGINES
def test_a_line_of_a_longer_value_is_found_with_colours_inside(engine: Any) -> None:
    hidden = vault("first-line-of-the-value\nsecond-line-of-the-value", engine=engine)

    masked = hidden.mask("x second-line\x1b[31m-of-the-value y")

    assert PLACEHOLDER.sub("V", masked) == "x V y"


@ENGINES
def test_a_text_with_half_a_pair_is_masked(engine: Any) -> None:
    assert PLACEHOLDER.sub(
        "V", vault("hunter2-long", engine=engine).mask("\ud800 hunter2-long")
    ) == ("\ud800 V")


@ENGINES
def test_a_value_in_json_with_other_letters_is_replaced_as_a_whole(engine: Any) -> None:
    masked = vault('pä"ssword-x', engine=engine).mask('{"a": "pä\\"ssword-x"}')
    assert PLACEHOLDER.sub("V", masked) == '{"a": "V"}'


def chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content).to_bytes(4, "big")
    return len(content).to_bytes(4, "big") + kind + content + checksum


def test_only_the_texts_of_a_picture_with_a_secret_are_left_out() -> None:
    hidden = vault("pässwörd-of-mine", "another-value")
    harmless = chunk(b"tEXt", b"Title\0a picture")
    secret = chunk(b"tEXt", b"Comment\0" + "pässwörd-of-mine".encode())
    start = b"\x89PNG\r\n\x1a\n"
    picture = base64.b64encode(start + harmless + secret + chunk(b"IEND", b"")).decode()

    for data in (picture, f"{picture[:40]}\n{picture[40:]}\r\n"):
        cleaned = base64.b64decode(clean_image(data, hidden))

        assert cleaned == start + harmless + chunk(b"IEND", b"")


def test_arguments_of_earlier_calls_are_masked_and_stay() -> None:
    call = ToolCall(id="1", name="bash", arguments={"command": "echo hunter2-long"})
    messages = (UserMessage(content="go"), AssistantMessage(content=(call,)))
    masking = Masking(vault("hunter2-long"))

    masked = masking.request(ModelRequest(model=MODEL, messages=messages, options=StreamOptions()))

    [message] = [each for each in masked.messages if isinstance(each, AssistantMessage)]
    [after] = message.tool_calls
    assert PLACEHOLDER.sub("V", after.arguments["command"]) == "echo V"


@pytest.mark.parametrize("answer", [None, {"other": "hunter2-long"}])
async def test_a_payload_that_an_extension_leaves_or_replaces_is_masked(
    answer: Json | None,
) -> None:
    async def handler(payload: Json, model: Model) -> Json | None:
        return answer

    options = StreamOptions(on_payload=handler)
    masking = Masking(vault("hunter2-long"))
    masked = masking.request(ModelRequest(model=MODEL, messages=(), options=options))
    assert masked.options.on_payload is not None

    sent = await masked.options.on_payload({"text": "hunter2-long"}, MODEL)

    assert sent is not None and [*sent] == (["other"] if answer else ["text"])
    assert PLACEHOLDER.fullmatch(next(iter(sent.values())))
