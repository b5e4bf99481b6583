from __future__ import annotations

import pytest

from pi.ai.messages import Image, Text, ToolCall, ToolResultMessage
from pi.coding.export.html.articles import Result, content, image, lone_result, tool_call
from pi.coding.export.html.markup import Painter
from tests.coding.export.sessions import PNG, called, came


def drawn(call: ToolCall, *messages: ToolResultMessage) -> str:
    results = [Result(node=n, message=message, shown=n == 0) for n, message in enumerate(messages)]
    return tool_call(call, results, Painter(budget=0))


@pytest.mark.behaviour("export-matches-the-screen")
@pytest.mark.parametrize(
    ("call", "result", "markup"),
    [
        (
            called("c", "read", path="a.py"),
            came("c", "read", "\n    x = 1\n\n"),
            '<details class="tool"><summary><span class="tool-name">read</span> '
            '<span class="subject">a.py</span></summary><div class="result" data-n="0">'
            '<pre class="code"><code>    x = 1</code></pre></div></details>',
        ),
        (
            called("c", "bash", command="ls <x>\n"),
            came("c", "bash", "no", is_error=True),
            '<details class="tool failed" open><summary><span class="tool-name">bash</span> '
            '<span class="badge">failed</span> <span class="subject">ls &lt;x&gt;</span></summary>'
            '<pre class="code"><code>$ ls &lt;x&gt;</code></pre>'
            '<div class="result failed" data-n="0"><pre class="code"><code>no</code></pre></div>'
            "</details>",
        ),
        (
            called("c", "edit", path="a", edits=[]),
            came("c", "edit", "done", details={"diff": "+1 x"}),
            '<details class="tool" open><summary><span class="tool-name">edit</span> '
            '<span class="subject">a</span></summary><div class="result" data-n="0">'
            '<pre class="diff"><span class="added">+1 x\n</span></pre></div></details>',
        ),
        (
            called("c", "write", path="a", content="x"),
            came("c", "write", "Successfully wrote to a"),
            '<details class="tool"><summary><span class="tool-name">write</span> '
            '<span class="subject">a</span></summary><pre class="code"><code>x</code></pre>'
            '<div class="result" data-n="0"><pre class="code"><code>Successfully wrote to a</code>'
            "</pre></div></details>",
        ),
        (
            called("c", "mine", deep={"a": 1}),
            came("c", "mine", " "),
            '<details class="tool"><summary><span class="tool-name">mine</span> '
            '<span class="subject"></span></summary><pre class="code"><code>{\n'
            "  &quot;deep&quot;: {\n    &quot;a&quot;: 1\n  }\n}</code></pre>"
            '<div class="result" data-n="0"></div></details>',
        ),
    ],
)
def test_a_call_is_drawn_with_its_result(
    call: ToolCall, result: ToolResultMessage, markup: str
) -> None:
    assert drawn(call, result) == markup


def test_a_call_without_a_result_is_marked() -> None:
    assert drawn(called("c", "ls")) == (
        '<details class="tool unanswered"><summary><span class="tool-name">ls</span> '
        '<span class="badge">unanswered</span> <span class="subject"></span></summary></details>'
    )


def test_the_result_of_another_branch_is_hidden() -> None:
    both = drawn(called("c", "ls"), came("c", "ls", "a"), came("c", "ls", "b"))

    assert '<div class="result" data-n="1" hidden>' in both


def test_a_result_without_a_call_is_drawn_alone() -> None:
    assert lone_result(came("c", "<b>", "a", is_error=True), Painter()) == (
        '<details class="tool failed"><summary><span class="tool-name">&lt;b&gt;</span> '
        '<span class="badge">failed</span> </summary>'
        '<pre class="code"><code>a</code></pre></details>'
    )


def test_a_picture_that_is_none_leaves_a_line() -> None:
    assert image(Image(data="x", mime_type="image/png<")) == (
        '<p class="note">[image that cannot be shown: image/png&lt;]</p>'
    )


def test_words_and_pictures_keep_their_order() -> None:
    parts = (Text(text="a"), Image(data=PNG, mime_type="image/png"), Text(text="b"))

    assert content(parts, Painter()) == (
        '<pre class="code"><code>a</code></pre>'
        f'<img src="data:image/png;base64,{PNG}" alt="image" class="picture" loading="lazy">'
        '<pre class="code"><code>b</code></pre>'
    )
