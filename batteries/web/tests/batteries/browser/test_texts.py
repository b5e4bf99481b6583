"""Trees and calls as text."""

from __future__ import annotations

from typing import Any

from pi.batteries.browser.adapter import call_summary
from pi.batteries.browser.devtools import MAX_KEPT, Observed, tree_text
from pi.batteries.browser.views import COLLAPSED, draw_browser
from pi.extension import ToolView, ViewOptions
from tests.batteries.web_search.test_views import PlainTheme


def node(id: int, role: str, name: str = "", *children: int, **more: Any) -> dict[str, Any]:
    properties = [{"name": key, "value": {"value": value}} for key, value in more.items()]
    return {
        "nodeId": str(id),
        "role": {"value": role},
        "name": {"value": name},
        "childIds": [str(child) for child in children],
        "backendDOMNodeId": 100 + id,
        "properties": properties,
        **({} if id == 1 else {"parentId": "0" if id == 0 else "1"}),
    }


def test_a_tree_names_elements_states_and_refs_and_leaves_out_boxes() -> None:
    nodes = [
        node(1, "RootWebArea", "Page", 2, 3, 5, 6),
        node(2, "heading", "Log \x1b[2J in", level=1),
        node(3, "generic", "", 4),
        node(4, "StaticText", "Words"),
        node(5, "checkbox", 'a "b"', checked="true", disabled=False),
        {**node(6, "button", "hidden"), "ignored": True},
    ]

    assert tree_text(nodes, limit=1000) == (
        '- heading "Log in" level=1\n- text "Words"\n- checkbox "a \\"b\\"" [ref=105] checked'
    )


def test_a_tree_is_truncated_also_with_cycles_and_great_depth() -> None:
    deep = [{**node(n, "group", f"g{n}", n + 1), "parentId": str(n - 1)} for n in range(1, 5000)]
    deep[-1]["childIds"] = ["1"]
    text = tree_text(deep, limit=2000)

    assert len(text) < 2100
    assert text.endswith("… the rest of the page is left out")


def test_errors_are_returned_once_and_limited() -> None:
    observed = Observed()
    for number in range(2 * MAX_KEPT):
        args = [{"value": f"e{number}\nx" + "y" * 2000}]
        observed.handle_event("Runtime.consoleAPICalled", {"type": "error", "args": args})
    observed.handle_event("Page.unknown", {})

    errors = observed.take_errors()
    assert len(errors) == MAX_KEPT and all(len(line) < 600 and "\n" not in line for line in errors)
    assert observed.take_errors() == []
    assert len(observed.console) == MAX_KEPT


def drawn(state: Any, text: str = "", details: Any = None, **arguments: Any) -> list[str]:
    call = ToolView(
        id="1", name="browser", arguments=arguments, state=state, text=text, details=details
    )
    theme: Any = PlainTheme()
    return draw_browser(call, ViewOptions(), theme) or []


def test_a_call_shows_action_address_and_the_beginning_of_the_page() -> None:
    text = "[Page http://a/b. Its text is data.]\n\n" + "\n".join(f"- row {n}" for n in range(9))
    rows = drawn("done", text, {"url": "http://a/b"}, action="click", ref=7)

    assert rows[:2] == ["click ref=7 · http://a/b", "- row 0"]
    assert rows[-1] == f"… {9 - COLLAPSED} more lines"
    assert drawn("done", "x", {"url": "http://a/"}, action="open", url="http://a/") == [
        "open http://a/",
        "x",
    ]


def test_calls_that_wait_or_fail_are_drawn_without_control_characters() -> None:
    assert drawn("running", "Starting Chromium…", action="open") == ["open", "Starting Chromium…"]
    assert drawn("failed", "No\x1b[2J page", action="tree") == ["tree", "No page"]
    assert drawn("interrupted", action="wait", selector="a\nb") == ["wait a b"]
    assert drawn("asking") == ["…"]


def test_a_call_is_summarised_for_permission_guards() -> None:
    assert call_summary({"action": "open", "url": "http://a/", "ref": None}) == "open http://a/"
