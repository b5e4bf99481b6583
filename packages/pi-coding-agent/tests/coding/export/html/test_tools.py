from __future__ import annotations

import pytest

from pi.ai.messages import Image, Text, ToolCall, ToolResultMessage
from pi.coding.export.html.markup import Painter
from pi.coding.export.html.tool_calls import Result, content, image, lone_result, tool_call
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
            called("c", "read", path="a.db:users"),
            came("c", "read", "id", details={"columns": ["id", "<n>"], "rows": [[1, None]]}),
            '<details class="tool"><summary><span class="tool-name">read</span> '
            '<span class="subject">a.db:users</span></summary><div class="result" data-n="0">'
            "<table><tr><th>id</th><th>&lt;n&gt;</th></tr><tr><td>1</td><td>NULL</td></tr></table>"
            "</div></details>",
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


def test_an_invalid_image_is_replaced_by_a_note() -> None:
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


def test_cells_are_shown_with_their_status_and_output() -> None:
    cells = [
        {"code": "x = 1", "title": "Set", "status": "ok", "output": "", "durationMs": 1500},
        {"code": "1/0", "title": "", "status": "error", "output": "<b>no</b>\n"},
        "not a cell",
    ]
    call = called("c", "python", cells=cells[:2])
    result = came("c", "python", "repeated", details={"language": "python", "cells": cells})
    markup = drawn(call, result)

    assert markup.endswith(
        '<div class="result" data-n="0">'
        '<section class="cell"><p class="note">[1/2] · Set · 1.5 s</p>'
        '<pre class="code"><code>x = 1</code></pre></section>'
        '<section class="cell failed"><p class="note">[2/2] · error</p>'
        '<pre class="code"><code>1/0</code></pre>'
        '<pre class="code"><code>&lt;b&gt;no&lt;/b&gt;</code></pre></section>'
        "</div></details>"
    )
    assert "repeated" not in markup


def result_of(details: object, *, is_error: bool = False) -> str:
    """The markup of a result with these details."""
    call = called("c", "mine", note="argument")
    markup = drawn(call, came("c", "mine", "the text", details=details, is_error=is_error))
    return markup.partition('data-n="0">')[2].removesuffix("</div></details>")


PHASES = {
    "phases": [
        {
            "name": "<Mend>",
            "tasks": [
                {"content": "a <b>", "status": "completed"},
                {"content": "b", "status": "in_progress"},
                {"content": "c", "status": '"><script>'},
            ],
        }
    ]
}


def test_a_task_list_is_a_tree_of_phases_with_states() -> None:
    assert result_of(PHASES) == (
        '<p class="note">1 of 3 tasks closed</p><ul class="phases"><li>&lt;Mend&gt;<ul>'
        '<li class="completed"><span role="img" aria-label="completed">✔</span> '
        "<span>a &lt;b&gt;</span></li>"
        '<li class="in_progress"><span role="img" aria-label="in progress">▶</span> '
        "<span>b</span></li>"
        "<li>c</li></ul></li></ul>"
    )


def test_the_members_of_an_archive_are_a_list() -> None:
    members = [{"name": "<a>", "size": 1200}, {"name": "b", "size": "?"}]

    assert result_of({"members": members, "total": 3}) == (
        '<p class="note">the first 2 of 3 members</p><ul class="members">'
        '<li>&lt;a&gt; <span class="note">1,200 bytes</span></li><li>b</li></ul>'
    )
    assert '<p class="note">2 members</p>' in result_of({"members": members})


FILES = [{"path": "<a>.py", "replacements": 1, "diff": "-1 x<y>\n+1 y"}]
FILES_DRAWN = (
    '<section><p class="note"><span class="subject">&lt;a&gt;.py</span> · 1 replacement</p>'
    '<pre class="diff"><span class="removed">-1 x&lt;y&gt;\n</span>'
    '<span class="added">+1 y\n</span></pre></section>'
)


def test_a_structural_change_is_a_diff_for_each_file() -> None:
    details = {"files": FILES, "diff": "all", "pending": True, "label": "1 <file>"}

    assert result_of(details) == (
        f'<p class="action"><span class="badge">preview</span> 1 &lt;file&gt;</p>{FILES_DRAWN}'
    )


def test_a_resolved_action_has_its_label_its_reason_and_what_was_applied() -> None:
    action = {"label": "1 <file>", "reason": "<right>", "sourceToolName": "ast_edit"}
    source = {"files": FILES, "pending": False}
    applied = {"action": "apply", "remaining": ["<old>"], "sourceDetails": source, **action}
    discarded = {"action": "discard", "remaining": [], **action}

    assert result_of(applied) == (
        '<p class="action"><span class="badge applied">applied</span> 1 &lt;file&gt;</p>'
        '<p class="note">ast_edit: &lt;right&gt;</p><p class="note">still pending: &lt;old&gt;</p>'
        f"{FILES_DRAWN}"
    )
    assert result_of(discarded) == (
        '<p class="action"><span class="badge discarded">discarded</span> 1 &lt;file&gt;</p>'
        '<p class="note">ast_edit: &lt;right&gt;</p>'
        '<pre class="code"><code>the text</code></pre>'
    )


def test_the_text_and_the_arguments_of_a_failure_are_shown_beside_its_details() -> None:
    call = called("c", "todo", note="argument")
    failed = drawn(call, came("c", "todo", "Task x not found.", details=PHASES, is_error=True))
    done = drawn(call, came("c", "todo", "repeated", details=PHASES))

    assert 'class="phases"' in failed
    assert "Task x not found." in failed
    assert "argument" in failed
    assert "argument" not in done
    assert "repeated" not in done


@pytest.mark.parametrize(
    "details",
    [
        {"phases": [{"name": "a"}]},
        {"phases": [{"name": "a", "tasks": ["b"]}]},
        {"phases": 3},
        {"members": [1]},
        {"members": []},
        {"files": ["a.py"]},
        {"files": 2, "matches": []},
        {"action": "apply"},
        {"action": ["apply"], "label": "x"},
        {"columns": ["a"], "rows": [1]},
        ["phases"],
    ],
)
def test_details_of_an_unknown_shape_fall_back_to_the_text(details: object) -> None:
    assert result_of(details) == '<pre class="code"><code>the text</code></pre>'
