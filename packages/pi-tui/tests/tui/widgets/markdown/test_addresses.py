from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.widgets.markdown.draw import plain_text
from pi.tui.widgets.markdown.nodes import Code, Inline, Link, Plain
from pi.tui.widgets.markdown.parse import link_bare_urls


def link(url: str) -> Link:
    return Link(url=url, children=(Plain(text=url),))


@pytest.mark.parametrize(
    ("text", "url", "rest"),
    [
        ("https://a.b/c", "https://a.b/c", ""),
        ("http://localhost:8080/x?y=1&z=2#w", "http://localhost:8080/x?y=1&z=2#w", ""),
        ("https://a.b/c.", "https://a.b/c", "."),
        ("https://a.b/c?!*_", "https://a.b/c", "?!*_"),
        ("https://a.b/c_(d)", "https://a.b/c_(d)", ""),
        ("https://a.b/c)).", "https://a.b/c", "))."),
        ("http://[::1]:80/", "http://[::1]:80/", ""),
        ("https://a.b/c。次", "https://a.b/c", "。次"),
        ('https://a.b"x', "https://a.b", '"x'),
        ("https://a.b</a>", "https://a.b", "</a>"),
    ],
)
def test_punctuation_after_a_url_is_not_part_of_the_link(text: str, url: str, rest: str) -> None:
    nodes = link_bare_urls([Plain(text=f"see ({text}")])

    after = (Plain(text=rest),) if rest else ()
    assert nodes == (Plain(text="see ("), link(url), *after)


@pytest.mark.parametrize("text", ["https://", "xhttps://a.b", "ftp://a.b", "a://b", "https:// a"])
def test_text_that_is_not_a_url_is_unchanged(text: str) -> None:
    nodes = [Plain(text=text)]

    assert link_bare_urls(nodes) == tuple(nodes)


def test_a_url_split_across_text_nodes_is_one_link() -> None:
    nodes: list[Inline] = [Plain(text="https://a.b/c"), Plain(text="_"), Plain(text="d e")]

    assert link_bare_urls([*nodes, Code(text="https://x.y")]) == (
        link("https://a.b/c_d"),
        Plain(text=" e"),
        Code(text="https://x.y"),
    )


@given(st.text("ab:/ht ps.)(]_", max_size=40), st.text("https://ab. )", max_size=20))
def test_linking_urls_does_not_change_the_text(one: str, other: str) -> None:
    nodes = [Plain(text=one), Plain(text="https://" + other)]

    assert plain_text(link_bare_urls(nodes)) == plain_text(nodes)
