"""Files with YAML in front."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.formats import Document
from pi.coding.resources.sources import BadResource, parse_document, read_text


def test_a_text_without_front_matter_is_all_body() -> None:
    text = "no dashes\n---\nhere\n"

    assert parse_document(text) == Document(meta={}, body=text, has_meta=False)


@pytest.mark.behaviour("frontmatter-is-never-silent")
def test_multi_line_values_a_bom_and_unknown_names_are_read() -> None:
    text = "\ufeff---\r\ndescription: >\r\n  two\r\n  lines\r\nmystery: [1]\r\n---\r\n\r\nBody\r\n"
    document = parse_document(text)

    assert document == Document(
        meta={"description": "two lines\n", "mystery": [1]}, body="Body", has_meta=True
    )


def test_front_matter_may_be_empty_or_end_the_file() -> None:
    assert parse_document("---\n---\nx").meta == {}
    assert parse_document("---\na: 1\n---").meta == {"a": 1}


@pytest.mark.behaviour("frontmatter-is-never-silent")
@pytest.mark.parametrize("yaml", ["a: 1\nmore: [\njust words", "- one", "just words"])
def test_broken_front_matter_is_an_error_with_a_reason(yaml: str) -> None:
    with pytest.raises(BadResource, match="front matter"):
        parse_document(f"---\n{yaml}\n---\nx")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("argument-hint: [issue] [priority]", "[issue] [priority]"),
        ("description: Use it when: the build breaks", "Use it when: the build breaks"),
        ('description: "Fast" review of @file', '"Fast" review of @file'),
        ("tools: Read, Grep\nx: [a] b", "Read, Grep"),
        ("globs: *.ts,*.tsx", "*.ts,*.tsx"),
        ("tags:\n  - one\n  - two\nx: [a] b", ["one", "two"]),
        (
            "description: Ask: first\n  <example>\n  Context: a",
            "Ask: first\n  <example>\n  Context: a",
        ),
        ("enabled: true\nx: [a] b", True),
    ],
)
def test_front_matter_that_is_no_yaml_is_read_line_by_line(line: str, value: object) -> None:
    document = parse_document(f"---\n{line}\n---\nBody")

    assert next(iter(document.meta.values())) == value
    assert document.body == "Body"


def test_a_line_that_is_no_field_is_named() -> None:
    with pytest.raises(BadResource, match="line 4 is not `name: value`"):
        parse_document("---\nname: x\nhint: [a] [b]\nno field\n---\nBody")


def test_an_unreadable_file_raises_with_the_reason(tmp_path: Path) -> None:
    binary, large = tmp_path / "b", tmp_path / "l"
    binary.write_bytes(b"\xff\xfe")
    large.write_bytes(b"x" * 1_000_001)
    for path, why in ((tmp_path / "none", "No such file"), (binary, "UTF-8"), (large, "larger")):
        with pytest.raises(BadResource, match=why):
            read_text(path)


@pytest.mark.parametrize("depth", [4, 9, 40])
def test_aliases_that_multiply_are_refused_before_they_are_expanded(depth: int) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, depth):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")

    with pytest.raises(BadResource, match="aliases may expand to more than 4 MiB"):
        parse_document("---\n{}\n---\n".format("\n".join(lines)))


def test_nested_anchors_that_double_are_refused() -> None:
    levels = range(30)
    text = (
        "".join(f"&a{n} [" for n in levels) + "x" + "".join(f"], *a{n}" for n in reversed(levels))
    )

    with pytest.raises(BadResource, match="30 aliases"):
        parse_document(f"---\na: [{text}]\n---\n")


def test_a_few_aliases_emphasis_and_globs_are_accepted() -> None:
    text = "---\na: &a [1]\nb: *a\nc: {d: *a}\ne: use *this* & *that* for *.py *.ts\nf: '*a'\n---\n"

    assert parse_document(text).meta["c"] == {"d": [1]}
    many = " ".join(["*so*"] * 100)
    assert parse_document(f"---\na: &x y\ndescription: go {many}\n---\n").meta["a"] == "y"


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("- " * 30_000 + "a", "more than 20 nested lists on one line"),
        ("? " * 30_000, "more than 20 nested lists on one line"),
        ("a: " + "[" * 30_000, "recursion limit"),
        ("a: " + "x" * 70_000, "larger than 65536 characters"),
    ],
)
def test_yaml_that_exhausts_the_stack_or_time_is_rejected(front: str, message: str) -> None:
    with pytest.raises(BadResource, match=message):
        parse_document(f"---\n{front}\n---\n")
