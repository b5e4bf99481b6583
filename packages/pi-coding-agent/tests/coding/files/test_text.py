from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.files.text import NotText, TextForm, decode, display_text


@pytest.mark.parametrize(
    ("data", "text", "form"),
    [
        (b"a\nb\n", "a\nb\n", TextForm()),
        (b"", "", TextForm()),
        (b"a\r\nb\r\nc\n", "a\r\nb\r\nc\n", TextForm(line_end="\r\n")),
        (b"a\r\nb\nc\n", "a\r\nb\nc\n", TextForm(line_end="\n")),
        (b"\xef\xbb\xbfa", "a", TextForm(mark=codecs.BOM_UTF8)),
        (
            codecs.BOM_UTF16_LE + "€\r\n".encode("utf-16-le"),
            "€\r\n",
            TextForm(encoding="utf-16-le", mark=codecs.BOM_UTF16_LE, line_end="\r\n"),
        ),
        (
            codecs.BOM_UTF16_BE + "€ ".encode("utf-16-be"),
            "€ ",
            TextForm(encoding="utf-16-be", mark=codecs.BOM_UTF16_BE),
        ),
    ],
)
def test_a_text_is_decoded_with_its_form_and_encoded_unchanged(
    data: bytes, text: str, form: TextForm
) -> None:
    assert decode(data) == (text, form)
    assert form.encode(text) == data


@given(st.binary())
def test_decoded_bytes_are_encoded_unchanged(data: bytes) -> None:
    try:
        text, form = decode(data)
    except NotText:
        return
    assert form.encode(text) == data


@pytest.mark.behaviour("invalid-utf8-is-refused")
def test_invalid_utf8_is_rejected_with_its_offset() -> None:
    with pytest.raises(NotText, match=r"not valid UTF-8: byte 0xff at offset 2"):
        decode(b"ab\xffc")


@pytest.mark.behaviour("invalid-utf8-is-refused")
def test_bytes_that_only_start_like_utf16_are_rejected() -> None:
    with pytest.raises(NotText, match=r"not valid UTF-8: byte 0xff at offset 0"):
        decode(b"\xff\xfebad\n")


def test_any_bytes_can_be_displayed() -> None:
    wide = codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le")

    assert [display_text(data) for data in (b"\xef\xbb\xbfa", b"a\xff", wide, b"")] == [
        "a",
        "a\ufffd",
        "é\n",
        "",
    ]
