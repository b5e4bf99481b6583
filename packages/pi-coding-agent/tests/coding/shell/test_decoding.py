from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.shell.output import OutputDecoder


def fed(decoder: OutputDecoder, *chunks: bytes) -> str:
    return "".join(decoder.feed(chunk) for chunk in chunks) + decoder.feed(b"", final=True)


@pytest.mark.behaviour("output-decodes-as-a-stream")
@given(st.text(), st.integers(1, 5))
def test_decoded_text_does_not_depend_on_the_chunk_size(text: str, size: int) -> None:
    data = text.encode("utf-8", "surrogatepass").replace(b"\xed", b"\xc3\xad")
    chunks = [data[offset : offset + size] for offset in range(0, len(data), size)]

    assert fed(OutputDecoder(), *chunks) == data.decode("utf-8", "replace")


@pytest.mark.behaviour("output-decodes-as-a-stream")
def test_invalid_bytes_become_replacement_characters() -> None:
    assert fed(OutputDecoder(), b"a\xffb\x00\xe2\x82") == "a\ufffdb\x00\ufffd"


@pytest.mark.behaviour("output-decodes-as-a-stream")
def test_the_code_page_of_the_system_is_used_after_invalid_utf8() -> None:
    page = OutputDecoder("cp437")

    assert fed(page, "€ ".encode(), b"caf\x82 ", b"\x81ber") == "€ café über"


def test_the_code_page_also_decodes_held_back_bytes() -> None:
    assert fed(OutputDecoder("cp1252"), b"\xe2", b"ge") == "âge"
