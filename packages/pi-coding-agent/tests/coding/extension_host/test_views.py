from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pi.coding.bus import NamedRegistry, OrderedList, Owner
from pi.coding.extension_host.contributions.views import View, Views, render_rows, resolve_view
from pi.coding.port.extensions import ViewOptions

OWNER = Owner(name="todo", path="/home/ada/todo.py")


class Drawn:
    """Draws its width."""

    def render(self, width: int) -> Sequence[str]:
        return [str(width)]


class RegisteredViews:
    """Views, with the failures they reported."""

    def __init__(self, **views: View) -> None:
        self.names: NamedRegistry[View] = NamedRegistry()
        self.reported: list[tuple[str, str, str]] = []
        for name, view in views.items():
            self.names.add(f"message:{name}", view, OWNER)
        self.transforms: OrderedList[Callable[..., str]] = OrderedList()
        self.views = Views(self.names, self.transforms, self._failed)

    def rows(self, name: str) -> list[str] | None:
        return self.views.rows("message", name, "thing", ViewOptions(expanded=True), "theme", 9)

    def _failed(self, owner: Owner, event: str, error: BaseException) -> None:
        self.reported.append((owner.name, event, str(error)))


@pytest.mark.parametrize(
    ("view_result", "rows"),
    [
        (None, None),
        ("one\ntwo", ["one", "two"]),
        (["one", "two"], ["one", "two"]),
        (Drawn(), ["7"]),
    ],
)
def test_a_view_can_return_lines_in_several_forms(view_result: Any, rows: list[str] | None) -> None:
    assert render_rows(view_result, 7) == rows


def test_a_view_gets_the_item_the_options_and_the_theme() -> None:
    seen: list[Any] = []
    registered = RegisteredViews(note=lambda *arguments: seen.append(arguments))

    assert (registered.rows("note"), registered.rows("other")) == (None, None)
    assert seen == [("thing", ViewOptions(expanded=True), "theme")]
    assert (registered.views.has("message", "note"), registered.views.has("tool", "note")) == (
        True,
        False,
    )
    assert (registered.views.has_any("message"), registered.views.has_any("entry")) == (True, False)


def test_a_view_given_by_name_is_imported() -> None:
    assert resolve_view("textwrap:dedent")("  x") == "x"


def test_a_failing_view_is_reported_once_and_skipped() -> None:
    registered = RegisteredViews(note="no.such.module:view")

    assert [registered.rows("note"), registered.rows("note")] == [None, None]
    assert registered.reported == [("todo", "view message:note", "No module named 'no'")]


def test_a_view_that_replaces_a_failed_one_is_drawn() -> None:
    registered = RegisteredViews(note=lambda *arguments: 1 / 0)
    assert registered.rows("note") is None

    registered.names.add(
        "message:note", lambda *arguments: "better", Owner(name="b", path="b", number=1)
    )

    assert registered.rows("note") == ["better"]


def test_markdown_is_changed_by_all_transformers_except_failing_ones() -> None:
    registered = RegisteredViews()
    registered.transforms.add(lambda text, about: text + about["message_type"], OWNER)
    registered.transforms.add(lambda text: text, Owner(name="bad", path="bad", number=1))
    registered.transforms.add(
        lambda text, about: text.upper(), Owner(name="up", path="up", number=2)
    )

    drawn = [registered.views.markdown("by ", {"message_type": "user"}) for _ in range(2)]

    assert drawn == ["BY USER"] * 2
    assert [reported[:2] for reported in registered.reported] == [("bad", "markdown")]
