from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from pi.documents.convert import (
    ConversionFailed,
    ConversionLimits,
    ConversionOptions,
    ConvertedDocument,
    convert_document,
)
from tests.sampling import sampled

ENVIRON = {"PATH": os.environ["PATH"]}
FILLER = "<p>" + "Enough words for the main part of a page. " * 6 + "</p>"
PAGE = f"""<!doctype html><html><head><title> A  page </title><style>p {{}}</style></head><body>
<nav><a href="/menu">menu</a></nav>
<main><h1>Title <em>one</em></h1>
<p>Some <b>bold</b> text, <a href="../next?a=1">a link</a>,
<a href="javascript:evil()">no link</a>.<br>
A <code>call()</code> and H<sub>2</sub>O.</p>
<ul><li>one<li>two<ul><li>inner</ul><li><p>three</p></ul>
<ol><li>first</li><li>second</li></ol>
<pre><code class="hljs language-python">def f():
    return "```"
</code></pre>
<blockquote><p>quoted</p><p>again</p></blockquote>
<table><tr><th>A</th><th>B</th></tr><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr></table>
<hr><img src="i.png" alt="a picture"><script>evil()</script><p hidden>secret</p>{FILLER}
</main><footer>foot</footer></body></html>"""
MARKDOWN = """# Title *one*

Some **bold** text, [a link](https://site.example/next?a=1), no link.
A `call()` and H2O.

- one
- two
  - inner
- three

1. first
2. second

````python
def f():
    return "```"
````

> quoted
>
> again

| A | B |
| --- | --- |
| 1\\|2 | x y |

---

![a picture](https://site.example/docs/i.png)
"""


async def html(page: str | bytes, **options: Any) -> ConvertedDocument:
    data = page.encode() if isinstance(page, str) else page
    chosen = ConversionOptions(kind="html", **options)
    return await convert_document(data, chosen, environ=ENVIRON)


async def test_a_page_is_converted_to_markdown_without_its_navigation() -> None:
    document = await html(PAGE, url="https://site.example/docs/page")

    body, _, filler = document.text.rpartition("\n\nEnough words")
    assert body + "\n" == MARKDOWN
    assert filler
    assert (document.title, document.truncated) == ("A page", False)


@pytest.mark.parametrize(
    ("page", "options", "text"),
    [
        ("<p>grün</p>".encode(), {}, "grün\n"),
        ("<p>grün</p>".encode("latin-1"), {"charset": "latin-1"}, "grün\n"),
        (b'<meta charset="iso-8859-1"><p>gr\xfcn</p>', {}, "grün\n"),
        ("\ufeff<p>grün</p>".encode("utf-16-le"), {}, "grün\n"),
        (b"<p>gr\xfcn</p>", {"charset": "no-such"}, "gr\ufffdn\n"),
        (b"", {}, "\n"),
        (b"plain words", {}, "plain words\n"),
    ],
)
async def test_html_is_decoded_in_any_encoding_and_empty_or_plain_pages_are_converted(
    page: bytes, options: dict[str, str], text: str
) -> None:
    assert (await html(page, **options)).text == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    sampled(["<a " * 20_000, "<b>x" * 20_000, "<div><b></div>x" * 5000], keep=1),
    ids=["attributes", "bold", "misnested"],
)
async def test_a_hostile_page_is_converted_or_times_out(page: str) -> None:
    limits = ConversionLimits(seconds=5)
    options = ConversionOptions(kind="html")
    try:
        document = await convert_document(page.encode(), options, environ=ENVIRON, limits=limits)
    except ConversionFailed as error:
        assert "took longer than 5 s" in error.message
    else:
        assert len(document.text) <= limits.characters


async def test_text_beyond_the_limit_is_truncated_and_marked() -> None:
    limits = ConversionLimits(characters=100)
    page = "<p>word</p>" * 1000

    document = await convert_document(
        page.encode(), ConversionOptions(kind="html"), environ=ENVIRON, limits=limits
    )

    assert document.truncated
    assert len(document.text) <= 100
    assert document.text.startswith("word\n\nword")


async def test_a_document_above_the_size_limit_is_not_converted() -> None:
    with pytest.raises(ConversionFailed, match="too large to convert"):
        await convert_document(
            b"x" * 2_000_000,
            ConversionOptions(kind="pdf"),
            environ=ENVIRON,
            limits=ConversionLimits(input=1_000_000),
        )


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS limits no address space")
async def test_the_kernel_limits_memory() -> None:
    page = "<p>" + "<b>x</b>" * 400_000

    with pytest.raises(ConversionFailed, match="memory"):
        await convert_document(
            page.encode(),
            ConversionOptions(kind="html"),
            environ=ENVIRON,
            limits=ConversionLimits(memory=90 * 1024**2),
        )


def make_pdf(*pages: str) -> bytes:
    """A small PDF with one line of text on each page."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        stream = f"BT /F1 24 Tf 40 100 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        content = len(objects)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {content} 0 R"
            " /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"
            " >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    body, offsets = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return body + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


async def test_the_text_of_a_pdf_is_read_page_by_page() -> None:
    data = make_pdf("First page", "Second page", "Third page")

    whole = await convert_document(data, ConversionOptions(kind="pdf"), environ=ENVIRON)
    part = await convert_document(
        data, ConversionOptions(kind="pdf", first_page=2, last_page=2), environ=ENVIRON
    )

    assert whole.pages == 3
    assert whole.text == (
        "--- Page 1 of 3 ---\n\nFirst page\n\n--- Page 2 of 3 ---\n\nSecond page\n\n"
        "--- Page 3 of 3 ---\n\nThird page\n"
    )
    assert part.text == "--- Page 2 of 3 ---\n\nSecond page\n"


async def test_pages_of_a_pdf_are_drawn() -> None:
    options = ConversionOptions(kind="pdf", as_images=True)
    limits = ConversionLimits(images=2)

    document = await convert_document(
        make_pdf("a", "b", "c"), options, environ=ENVIRON, limits=limits
    )

    assert document.truncated
    sizes = [Pillow.open(io.BytesIO(data)).size for data in document.images]
    assert sizes == [(600, 400), (600, 400)]


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        ("pdf", b"not a pdf", "damaged"),
        ("pdf", make_pdf("a")[:60], "damaged"),
        ("notebook", b"{", "not a notebook"),
        ("notebook", b"[]", "not a notebook"),
        ("notebook", b"[" * 100_000, "not a notebook"),
    ],
)
async def test_a_damaged_document_is_reported(kind: str, data: bytes, reason: str) -> None:
    options = ConversionOptions(kind=kind)  # type: ignore[arg-type]

    with pytest.raises(ConversionFailed, match=reason):
        await convert_document(data, options, environ=ENVIRON)


async def test_a_notebook_shows_cells_and_outputs() -> None:
    notebook = {
        "metadata": {"kernelspec": {"language": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Head\n", "text"]},
            {
                "cell_type": "code",
                "source": "print(1)",
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                    {"output_type": "error", "traceback": ["\x1b[31mBoom\x1b[0m"]},
                    {"output_type": "stream", "text": "x" * 2100},
                ],
            },
        ],
    }

    document = await convert_document(
        json.dumps(notebook).encode(), ConversionOptions(kind="notebook"), environ=ENVIRON
    )

    long = "x" * 2000 + "\n[100 more characters]"
    outputs = "".join(
        f"\n\nOutput:\n\n```\n{text}\n```" for text in ("1", "[image/png]", "Boom", long)
    )
    assert document.text == (f"# Head\ntext\n\nCell 2:\n\n```python\nprint(1)\n```{outputs}\n")


async def test_a_conversion_writes_no_files(tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())

    await convert_document(
        b"<p>x</p>", ConversionOptions(kind="html"), environ={**ENVIRON, "TMPDIR": str(tmp_path)}
    )

    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "tag", sampled(["div", "blockquote", "ul><li", "table><tr><td", "x-own"], keep=1)
)
async def test_a_page_that_nests_without_end_is_refused_at_once(tag: str) -> None:
    page = f"<{tag}>word".encode() * 50_000

    with pytest.raises(ConversionFailed, match="nested deeper than 2000 levels"):
        await html(page)


@pytest.mark.parametrize(
    ("tag", "end"),
    sampled(
        [("blockquote", "blockquote"), ("ul><li", "li></ul"), ("table><tr><td", "td></tr></table")],
        keep=1,
    ),
)
async def test_elements_nested_deeply_keep_their_text(tag: str, end: str) -> None:
    page = f"<{tag}>in ".encode() * 1900 + b"core" + f"</{end}> out".encode() * 1900

    document = await html(page)

    assert document.text.count("in") == document.text.count("out") == 1900
    assert max(map(len, document.text.replace("in", "").replace("out", "").split())) < 10
