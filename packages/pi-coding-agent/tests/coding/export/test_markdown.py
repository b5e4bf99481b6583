from __future__ import annotations

import pyromark
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.export.text import render_markdown
from pi.coding.export.transcript import read_transcript
from tests.coding.export.sessions import (
    HEADER,
    answered,
    called,
    came,
    chain,
    message,
    user_message,
)
from tests.coding.export.snapshots import actual, recorded


def written(text: str) -> str:
    """The Markdown of a user message that is followed by another one."""
    entries = chain([message(user_message(text)), message(user_message("the end"))])
    rendered = render_markdown(read_transcript(HEADER, entries))
    return rendered.split("## User\n\n", 1)[1].removesuffix("\n\n## User\n\nthe end\n")


def test_the_sample_markdown_matches_its_snapshot() -> None:
    assert actual("sample.md") == recorded("sample.md")


@pytest.mark.behaviour("html-text-is-shown")
@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("é <b>x</b>", "é &lt;b>x&lt;/b>"),
        ("<script>\nhit()\n</script>", "&lt;script>\nhit()\n&lt;/script>"),
        ("`<b>` stays", "`<b>` stays"),
        ("```\n<b>\n```", "```\n<b>\n```"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_html_in_messages_is_escaped(text: str, harmless: str) -> None:
    assert written(text) == harmless


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("a\n\n~~~~\nx", "a\n\n~~~~\nx\n~~~~"),
        ("- a\n  ```\n  x", "- a\n  ```\n  x"),
    ],
)
def test_an_unclosed_code_block_is_closed(text: str, closed: str) -> None:
    assert written(text) == closed


def test_a_fence_is_longer_than_those_inside_it() -> None:
    call = answered(called("c", "bash", command="echo '````'"))
    rendered = render_markdown(
        read_transcript(HEADER, chain([message(call), message(came("c", "bash", "```\nx\n```"))]))
    )

    assert "`````bash\necho '````'\n`````\n\n````\n```\nx\n```\n````\n" in rendered


@given(st.text(alphabet="<>ab/!-`~\n *[]()&é?\"'= ", max_size=60))
def test_no_message_produces_html(text: str) -> None:
    events = pyromark.events(written(text))

    assert [event for event in events if "Html" in event or "InlineHtml" in event] == []
