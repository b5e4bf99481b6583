"""The converter in this process; ``test_documents.py`` runs it as the child process that it is."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from PIL import Image as Pillow

from pi.documents.converter import (
    MAX_OUTPUTS,
    CannotConvert,
    convert_html,
    convert_notebook,
    convert_pdf,
)
from pi.documents.html_pages import MAX_DEPTH, decode_page, depth_of

OPTIONS: dict[str, Any] = {"characters": 10_000, "pixels_per_point": 1, "max_images": 2}


def markdown(page: str, **options: Any) -> str:
    text: str = convert_html(page.encode(), OPTIONS | options)["text"]
    return text


def notebook(*cells: Any, **others: Any) -> dict[str, Any]:
    return convert_notebook(json.dumps({"cells": cells, **others}).encode(), OPTIONS)


def pdf(pages: int = 1) -> bytes:
    pictures = [Pillow.new("RGB", (20, 10)) for _ in range(pages)]
    file = io.BytesIO()
    pictures[0].save(file, "PDF", save_all=True, append_images=pictures[1:])
    return file.getvalue()


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h2>One</h2><p><i>two</i> <strong>three</strong></p>", "## One\n\n*two* **three**\n"),
        ("<p>a<br>b</p><hr><p>c</p>", "a\nb\n\n---\n\nc\n"),
        ("<p><a href='/x'>x</a> <a href='#top'>y</a></p>", "[x](https://a.example/x) y\n"),
        ("<p><a href='https://b.example'></a>empty</p>", "empty\n"),
        ("<img src='p.png' alt='p'><img alt='none'>", "![p](https://a.example/p.png)\n"),
        ("<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  1. b\n  2. c\n- d\n"),
        ("<blockquote>q<ul><li>i</li></ul></blockquote>", "> q\n>\n> - i\n"),
        ("<pre>  x\n\ty</pre>", "```\n  x\n\ty\n```\n"),
        ("<table><tr><td>1<td>2<tr><td>3</table>", "| 1 | 2 |\n| --- | --- |\n| 3 |  |\n"),
        ("<table></table><p>after</p>", "after\n"),
        ("<script>s</script><style>t</style><p hidden>u</p><p>v</p>", "v\n"),
        ("<table><tr><td><ul><li>a<li>b</ul><td><pre>c</table>", "| a b | c |\n| --- | --- |\n"),
        ("<template><p>t</p></template><svg><text>s</text></svg><p>w</p>", "w\n"),
        ("<dl><dt>term</dt><dd>text</dd></dl>", "term\n\ntext\n"),
    ],
)  # fmt: skip
def test_html_elements_are_converted_to_markdown(page: str, text: str) -> None:
    assert markdown(page, url="https://a.example/") == text


def test_the_base_of_a_page_applies_to_its_links() -> None:
    page = "<base href='https://b.example/d/'><a href='e'>f</a>"

    assert markdown(page, url="https://a.example/") == "[f](https://b.example/d/e)\n"


def test_a_long_page_is_cut_and_its_title_is_one_line() -> None:
    found = convert_html(
        b"<title>a\n b</title>" + b"<p>word</p>" * 500, OPTIONS | {"characters": 50}
    )

    assert (found["title"], found["truncated"]) == ("a b", True)
    assert len(found["text"]) <= 50


def test_elements_that_are_nested_too_deeply_are_refused() -> None:
    page = "<div>" * (MAX_DEPTH + 5)

    assert depth_of(page) == MAX_DEPTH + 1
    assert depth_of("<p><li></div><div><b></div>") == 1
    with pytest.raises(CannotConvert, match="nested deeper"):
        convert_html(page.encode(), OPTIONS)


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("ä".encode("utf-8-sig"), "", "ä"),
        ("ä".encode("utf-16"), "", "ä"),
        (b"<meta charset=latin-1>\xe4", "", "<meta charset=latin-1>ä"),
        (b"\xe4", "no-such", "\ufffd"),
    ],
)
def test_the_encoding_is_given_or_detected(data: bytes, charset: str, text: str) -> None:
    assert decode_page(data, charset) == text


def test_a_notebook_becomes_its_cells_and_outputs() -> None:
    outputs: list[Any] = [
        {"output_type": "stream", "text": ["a\n", "b\n"]},
        {"output_type": "error", "traceback": ["\x1b[31mE\x1b[0m: bad"]},
        {"data": {"text/plain": "7"}},
        {"data": {"image/png": "…", "text/plain": "figure"}},
        {"text": "x" * (MAX_OUTPUTS + 3)},
        "odd",
    ]
    found = notebook(
        {"cell_type": "markdown", "source": ["# T\n", "text"]},
        {"cell_type": "code", "source": "f('```')", "outputs": outputs},
        "odd",
        metadata={"kernelspec": {"language": "r"}},
    )

    text = found["text"]
    assert text.startswith(
        "# T\ntext\n\nCell 2:\n\n````r\nf('```')\n````\n\nOutput:\n\n```\na\nb\n```"
    )
    assert "E: bad" in text
    assert "[image/png]" in text
    assert "[3 more characters]" in text
    assert not found["truncated"]


@pytest.mark.parametrize("data", [b"no JSON", b"{}", b"[]", b'{"worksheets": []}'])
def test_data_that_is_not_a_notebook_is_rejected(data: bytes) -> None:
    with pytest.raises(CannotConvert, match="it is not a notebook"):
        convert_notebook(data, OPTIONS)


def test_pages_of_a_pdf_are_numbered_and_limited() -> None:
    found = convert_pdf(pdf(3), OPTIONS | {"first_page": 2})
    short = convert_pdf(pdf(3), OPTIONS | {"characters": 30})

    assert found["pages"] == 3
    assert [line for line in found["text"].splitlines() if line] == [
        "--- Page 2 of 3 ---",
        "--- Page 3 of 3 ---",
    ]
    assert short["truncated"]


def test_pages_of_a_pdf_become_pictures() -> None:
    found = convert_pdf(pdf(3), OPTIONS | {"as_images": True})

    assert len(found["images"]) == 2
    assert found["truncated"]


def test_a_damaged_pdf_and_a_missing_page_are_refused() -> None:
    with pytest.raises(CannotConvert, match="it is damaged"):
        convert_pdf(b"%PDF-1.7 nothing", OPTIONS)
    with pytest.raises(CannotConvert, match="it has 1 pages, and page 2 was asked for"):
        convert_pdf(pdf(), OPTIONS | {"first_page": 2})
