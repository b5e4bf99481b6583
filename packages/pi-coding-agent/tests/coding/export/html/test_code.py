from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.terminal_text import sanitise
from pi.coding.export.html.markup import MAX_BLOCK, Painter, diff


def text_of(markup: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", markup))


def test_code_is_coloured_in_its_language() -> None:
    assert Painter().block("def f(): return 1 # one\n", "python") == (
        '<pre class="code"><code><span class="k">def</span> <span class="f">f</span>(): '
        '<span class="k">return</span> <span class="m">1</span> '
        '<span class="c"># one</span></code></pre>'
    )


def test_the_language_is_detected_from_the_file_name() -> None:
    assert '<span class="k">' in Painter().block("return", file="C:\\src\\a.py")
    assert '<span class="k">' in Painter().block("return", file="/src/a.py")
    assert Painter().block("return", file="a.no-such") == (
        '<pre class="code"><code>return</code></pre>'
    )


@pytest.mark.parametrize("language", ["no-such-language", "", "<script>", "python\x00"])
def test_code_in_an_unknown_language_is_plain(language: str) -> None:
    assert Painter().block("if a < b:", language) == (
        '<pre class="code"><code>if a &lt; b:</code></pre>'
    )


def test_a_prefix_of_the_code_is_not_coloured() -> None:
    assert Painter().block("if", "bash", before="$ ") == (
        '<pre class="code"><code>$ <span class="k">if</span></code></pre>'
    )


def test_colouring_is_limited_per_page_and_per_block() -> None:
    painter = Painter(budget=10)

    assert "span" in painter.block("return 1", "python")
    assert "span" not in painter.block("return 2", "python")
    assert "span" not in Painter().block("1 " * MAX_BLOCK, "python")


@pytest.mark.parametrize("language", ["python", "bash", "json", "console", "diff", "html", "make"])
@given(code=st.text(alphabet="ab<>&\"'#$ \n\t{}[]:=-+1é\\", max_size=40))
def test_colouring_neither_loses_nor_adds_a_character(language: str, code: str) -> None:
    assert text_of(Painter().block(code, language)) == sanitise(code.rstrip("\n"))


def test_changed_lines_of_a_diff_have_classes() -> None:
    assert diff(" 1 a\n-2 <b>\n+2 c\n@@ 3") == (
        '<pre class="diff"><span> 1 a\n</span><span class="removed">-2 &lt;b&gt;\n</span>'
        '<span class="added">+2 c\n</span><span class="place">@@ 3\n</span></pre>'
    )
