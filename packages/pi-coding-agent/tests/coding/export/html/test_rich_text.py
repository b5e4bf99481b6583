from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.export.html.markup import Painter, rich_text
from tests.coding.export.html.test_markup import read
from tests.coding.export.sessions import PNG

ALLOWED = {
    *("p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "em", "strong", "del", "code", "pre", "span"),
    *("blockquote", "table", "tr", "th", "td", "a", "img", "br", "hr"),
}


def shown(markdown: str) -> str:
    return rich_text(markdown, Painter())


@pytest.mark.parametrize(
    ("markdown", "markup"),
    [
        ("a *b* **c** ~~d~~", "<p>a <em>b</em> <strong>c</strong> <del>d</del></p>"),
        ("`e`", "<p><code>e</code></p>"),
        ("# A\n\n###### B", "<h3>A</h3><h6>B</h6>"),
        ("a\nb  \nc", "<p>a<br>\nb<br>\nc</p>"),
        ("- a\n- [x] b\n- [ ] c", "<ul><li>a</li><li>☑ b</li><li>☐ c</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> a", "<blockquote><p>a</p></blockquote>"),
        ("a\n\n---\n", "<p>a</p><hr>\n"),
        (
            "|a|b|\n|-|-:|\n|1|2|",
            '<table><tr><th>a</th><th class="right">b</th></tr>'
            '<tr><td>1</td><td class="right">2</td></tr></table>',
        ),
        ("```x,y z\na<b\n```", '<pre class="code"><code>a&lt;b</code></pre>'),
        ("    a", '<pre class="code"><code>a</code></pre>'),
    ],
)  # fmt: skip
def test_markdown_becomes_markup(markdown: str, markup: str) -> None:
    assert shown(markdown) == markup


@pytest.mark.behaviour("html-text-is-shown")
@pytest.mark.parametrize(
    ("markdown", "markup"),
    [
        ("a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>"),
        ("<script>\nhit()\n</script>", "<pre>&lt;script&gt;\nhit()\n&lt;/script&gt;</pre>"),
        ("<!-- x -->", "<pre>&lt;!-- x --&gt;</pre>"),
        ("&lt;b&gt; &#27;[31m", "<p>&lt;b&gt; </p>"),
    ],
)
def test_html_is_shown_as_text(markdown: str, markup: str) -> None:
    assert shown(markdown) == markup


@pytest.mark.behaviour("export-is-escaped")
@pytest.mark.parametrize(
    ("markdown", "markup"),
    [
        (
            "[a](https://a.example/?b&c)",
            '<p><a href="https://a.example/?b&amp;c" rel="noopener noreferrer" target="_blank">'
            "a</a></p>",
        ),
        (
            "<https://a.example>",
            '<p><a href="https://a.example" rel="noopener noreferrer" target="_blank">'
            "https://a.example</a></p>",
        ),
        (
            "[a](javascript:hit&#40;1&#41;)",
            '<p><span class="dead-link" title="javascript:hit(1)">a</span></p>',
        ),
        (
            "[a](src/a.py)",
            '<p><span class="dead-link" title="src/a.py">a</span></p>',
        ),
        (
            f"![a *b*](data:image/png;base64,{PNG})",
            f'<p><img src="data:image/png;base64,{PNG}" alt="a b"></p>',
        ),
        (
            "![a ![b](c) d](https://a.example/x.png)",
            '<p><a href="https://a.example/x.png" rel="noopener noreferrer" target="_blank">'
            "[image: a b d]</a></p>",
        ),
        ("![](javascript:hit)", '<p><span class="dead-link">[image: javascript:hit]</span></p>'),
    ],
)
def test_links_and_pictures_pass_an_allow_list(markdown: str, markup: str) -> None:
    assert shown(markdown) == markup


@pytest.mark.behaviour("export-is-escaped")
@given(st.text(alphabet="<>ab/!-`~\n *[]()&#é:;|\"'=_1.", max_size=80))
def test_only_allowed_elements_come_out_of_any_text(markdown: str) -> None:
    elements = [part[0] for part in read(shown(markdown)) if isinstance(part, tuple)]

    assert set(elements) <= ALLOWED


def test_deep_nesting_does_not_exceed_the_recursion_limit() -> None:
    assert shown("> " * 5000 + "a").count("<blockquote>") > 100


def test_diagrams_and_formulas_are_shown_as_source() -> None:
    page = shown("```mermaid\ngraph TD; A-->B\n```\n\n$$\\frac{a}{b}$$")

    assert "graph TD; A--&gt;B" in page
    assert "$$\\frac{a}{b}$$" in page
