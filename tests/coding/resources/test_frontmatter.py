"""Files with YAML in front."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.frontmatter import BadResource, Document, parse_document, read_text


def test_a_text_without_front_matter_is_all_body() -> None:
    text = "no dashes\n---\nhere\n"

    assert parse_document(text) == Document(meta={}, body=text, has_meta=False)


@pytest.mark.trap(272)
def test_multi_line_values_a_bom_and_unknown_names_are_read() -> None:
    text = "\ufeff---\r\ndescription: >\r\n  two\r\n  lines\r\nmystery: [1]\r\n---\r\n\r\nBody\r\n"
    document = parse_document(text)

    assert document == Document(
        meta={"description": "two lines\n", "mystery": [1]}, body="Body", has_meta=True
    )


def test_front_matter_may_be_empty_or_end_the_file() -> None:
    assert parse_document("---\n---\nx").meta == {}
    assert parse_document("---\na: 1\n---").meta == {"a": 1}


@pytest.mark.trap(272)
@pytest.mark.parametrize("yaml", ["a: [", "- one", "just words"])
def test_broken_front_matter_is_an_error_with_a_reason(yaml: str) -> None:
    with pytest.raises(BadResource, match="front matter"):
        parse_document(f"---\n{yaml}\n---\nx")


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    binary, large = tmp_path / "b", tmp_path / "l"
    binary.write_bytes(b"\xff\xfe")
    large.write_bytes(b"x" * 1_000_001)
    for path, why in ((tmp_path / "none", "No such file"), (binary, "UTF-8"), (large, "larger")):
        with pytest.raises(BadResource, match=why):
            read_text(path)
