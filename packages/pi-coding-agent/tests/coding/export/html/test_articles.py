from __future__ import annotations

import pytest

from pi.ai.messages import Image, Text, Thinking
from pi.base.records import replace
from pi.coding.export.html.markup import Painter
from pi.coding.export.html.page import Articles
from pi.coding.export.outline import build_outline
from pi.coding.export.transcript import read_transcript
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    KnownEntry,
)
from tests.coding.export.sessions import (
    HEADER,
    PNG,
    answered,
    came,
    chain,
    message,
    sample,
    user_message,
)


def articles(entries: list[Entry], leaf: str | None = "") -> Articles:
    transcript = read_transcript(HEADER, entries, leaf=leaf)
    return Articles(transcript, build_outline(transcript), Painter(budget=0))


def drawn(draft: KnownEntry) -> str:
    """One entry without its header."""
    return articles(chain([draft])).article(0).split("</header>")[1].removesuffix("</article>")


@pytest.mark.parametrize(
    ("draft", "markup"),
    [
        (
            message(user_message("a *b*", Image(data=PNG, mime_type="image/png"))),
            '<div class="words"><p>a <em>b</em></p></div>'
            f'<img src="data:image/png;base64,{PNG}" alt="image" class="picture" loading="lazy">',
        ),
        (
            message(answered(Thinking(thinking="hm"), Thinking(thinking=""), "\n\nyes\n")),
            '<details class="thinking"><summary>Thinking</summary><div class="words"><p>hm</p>'
            '</div></details><div class="words"><p>yes</p></div>',
        ),
        (
            message(answered(Thinking(thinking="", redacted=True))),
            '<p class="note">Thinking that the provider keeps to itself.</p>',
        ),
        (
            message(replace(answered("a"), stop_reason="aborted")),
            '<div class="words"><p>a</p></div><p class="error">The answer was stopped.</p>',
        ),
        (
            message(replace(answered(), stop_reason="error", error_message="<400>")),
            '<p class="error">&lt;400&gt;</p>',
        ),
        (
            message(
                BashExecution(
                    command="ls",
                    output="a\n",
                    exit_code=2,
                    cancelled=True,
                    full_output_path="/log",
                    exclude_from_context=True,
                )
            ),
            '<pre class="code"><code>$ ls</code></pre><pre class="code"><code>a</code></pre>'
            '<p class="note">exit code 2, cancelled, cut; all of it was in /log, '
            "not shown to the model</p>",
        ),
        (
            message(CustomMessage(custom_type="x", content="a")),
            '<div class="words"><p>a</p></div>',
        ),
        (
            message(BranchSummaryMessage(summary="a", from_id="")),
            '<details class="summary"><summary>Summary of a branch that was left</summary>'
            '<div class="words"><p>a</p></div></details>',
        ),
        (
            message(CompactionSummaryMessage(summary="a", tokens_before=1000)),
            '<details class="summary"><summary>Compacted: 1,000 tokens became this summary'
            '</summary><div class="words"><p>a</p></div></details>',
        ),
        (
            message(came("gone", "read", "a")),
            '<details class="tool"><summary><span class="tool-name">read</span> </summary>'
            '<pre class="code"><code>a</code></pre></details>',
        ),
        (
            Custom(custom_type="x", data="<b>"),
            '<details><summary>Data</summary><pre class="data">{\n'
            "  &quot;type&quot;: &quot;custom&quot;,\n  &quot;customType&quot;: &quot;x&quot;,\n"
            "  &quot;data&quot;: &quot;&lt;b&gt;&quot;,\n  &quot;id&quot;: &quot;e0&quot;,\n"
            "  &quot;parentId&quot;: null,\n"
            "  &quot;timestamp&quot;: &quot;2026-11-15T19:00:00.000Z&quot;\n}</pre></details>",
        ),
    ],
)
def test_every_kind_of_entry_has_its_markup(draft: KnownEntry, markup: str) -> None:
    assert drawn(draft) == markup


def test_the_header_of_an_article_shows_speaker_time_and_label() -> None:
    assert (
        articles(sample())
        .article(9)
        .startswith(
            '<article id="n9" data-n="9" class="assistant"><header>'
            '<span class="who">mock/mock-r</span>'
            '<time datetime="2026-11-15T19:00:09.000Z">2026-11-15 19:00</time>'
            '<span class="label">solved</span></header>'
        )
    )


def test_an_article_with_siblings_has_a_branch_switch() -> None:
    assert (
        '<nav class="switch" aria-label="Branches">'
        '<button type="button" aria-label="Previous branch" data-go="11">‹</button>'
        "<span>2/2</span>"
        '<button type="button" aria-label="Next branch" disabled>›</button></nav>'
    ) in articles(sample()).article(21)


def test_entries_outside_the_branch_are_hidden() -> None:
    drawn = articles(sample(), leaf="e22")

    assert "hidden" in drawn.article(11).split(">")[0]
    assert "hidden" not in drawn.article(21).split(">")[0]


def test_an_invalid_timestamp_is_left_out() -> None:
    entry = replace(message(user_message("a")), id="a", timestamp='"><script>')

    assert (
        articles([entry])
        .article(0)
        .startswith(
            '<article id="n0" data-n="0" class="user"><header><span class="who">You</span></header>'
        )
    )


@pytest.mark.parametrize("is_message", [True, False])
def test_cells_of_a_message_or_entry_of_an_extension_are_shown(is_message: bool) -> None:
    details = {"cells": [{"code": "1 + 1", "output": "2\n"}]}
    image = Image(data=PNG, mime_type="image/png")
    draft: KnownEntry = Custom(custom_type="python", data=details)
    if is_message:
        draft = CustomMessageEntry(
            custom_type="python", content=(Text(text="x"), image), display=True, details=details
        )

    cell = (
        '<section class="cell"><pre class="code"><code>1 + 1</code></pre>'
        '<pre class="code"><code>2</code></pre></section>'
    )
    picture_tag = (
        f'<img src="data:image/png;base64,{PNG}" alt="image" class="picture" loading="lazy">'
    )
    assert drawn(draft) == cell + (picture_tag if is_message else "")
