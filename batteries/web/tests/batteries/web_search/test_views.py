"""How a search is drawn."""

from __future__ import annotations

from typing import Any

from pi.batteries.web_search.views import draw_search
from pi.extension import ToolView, ViewOptions
from pi.tui.text.ansi import strip_sequences


class PlainTheme:
    """A theme without colours."""

    name = ""

    def fg(self, name: str, text: str) -> str:
        return text

    bg = fg

    def bold(self, text: str) -> str:
        return text

    italic = bold


SOURCES = [
    {"title": f"Page {n}", "url": f"https://{n}.example/a", "snippet": "Words."} for n in range(7)
]


def rows(state: Any, details: Any = None, text: str = "", **options: Any) -> list[str]:
    call = ToolView(
        id="1",
        name="web_search",
        arguments={"query": "clock\x1b[2J", "recency": "day"},
        state=state,
        text=text,
        details=details,
    )
    theme: Any = PlainTheme()
    return draw_search(call, ViewOptions(**options), theme) or []


def response(**fields: Any) -> dict[str, Any]:
    return {"response": {"provider": "brave", "sources": SOURCES, **fields}}


def test_a_running_search_names_the_provider() -> None:
    asking = {"response": {"provider": "brave", "sources": []}}

    assert rows("running") == ["clock · past day"]
    assert rows("running", asking) == ["clock · past day · asking brave"]


def test_results_are_links_where_the_terminal_shows_them() -> None:
    drawn = rows("done", response(answer="Yes."), hyperlinks=True)

    assert "\x1b]8;;https://0.example/a\x07Page 0" in drawn[2]
    assert [strip_sequences(row) for row in drawn] == [
        "clock · past day · brave · 7 sources",
        "Yes.",
        *(f"{n + 1}. Page {n} {n}.example" for n in range(5)),
        "… 2 more sources",
    ]


def test_urls_are_shown_without_hyperlink_support() -> None:
    drawn = rows("done", response(), expanded=True)

    assert drawn[1:3] == ["1. Page 0 https://0.example/a", "   Words."]
    assert len(drawn) == 15


def test_a_failure_is_shown_with_its_reason() -> None:
    assert rows("done", response() | {"error": "No key."}) == ["clock · past day", "No key."]
    assert rows("failed", None, "Aborted") == ["clock · past day", "Aborted"]


def test_only_http_urls_are_hyperlinks() -> None:
    sources = [{"title": "x", "url": "file:///etc/passwd"}]
    drawn = rows("done", response(sources=sources), hyperlinks=True)

    assert "\x1b" not in drawn[1]
