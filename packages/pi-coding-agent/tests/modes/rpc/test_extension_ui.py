from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.ui import Option, ThemeChange
from pi.modes.rpc.server import RpcUI


class Wire:
    """A client that remembers what it was sent."""

    def __init__(self) -> None:
        numbers = count(1)
        self.sent: list[dict[str, Any]] = []
        self.ui = RpcUI(self.sent.append, lambda: f"id{next(numbers)}")

    async def answer_to(self, question: Any, **answer: Any) -> Any:
        """The result of a dialog for this response of the client."""
        waiting = asyncio.ensure_future(question)
        await asyncio.sleep(0)
        self.ui.handle_response({"id": self.sent[-1]["id"], **answer})
        return await waiting


async def test_questions_are_sent_and_answered() -> None:
    wire = Wire()
    ui = wire.ui

    assert await wire.answer_to(ui.select("S", ("A", "B")), value="B") == "B"
    assert await wire.answer_to(ui.confirm("C", "m"), confirmed=True) is True
    assert await wire.answer_to(ui.input("I", "ph"), value="text") == "text"
    assert await wire.answer_to(ui.editor("E", "pre"), value="text") == "text"

    def request(number: int, method: str, **fields: Any) -> dict[str, Any]:
        return {"type": "extension_ui_request", "id": f"id{number}", "method": method, **fields}

    assert wire.sent == [
        request(1, "select", title="S", options=["A", "B"]),
        request(2, "confirm", title="C", message="m"),
        request(3, "input", title="I", placeholder="ph"),
        request(4, "editor", title="E", prefill="pre"),
    ]


async def test_a_cancelled_dialog_returns_no_answer() -> None:
    wire = Wire()

    assert await wire.answer_to(wire.ui.select("S", ["A"]), cancelled=True) is None
    assert await wire.answer_to(wire.ui.confirm("C", "m"), cancelled=True) is False
    assert await wire.answer_to(wire.ui.input("I"), value=3) is None


@pytest.mark.behaviour("rpc-dialogs")
async def test_timeouts_of_dialogs_are_applied_by_the_server() -> None:
    wire = Wire()

    assert await wire.ui.select("S", ["A"], timeout=0.01) is None
    assert not await wire.ui.confirm("C", "m", timeout=0.01)
    assert await wire.ui.input("I", timeout=0.01) is None
    assert await wire.ui.editor("E", timeout=0.01) is None

    assert [request["timeout"] for request in wire.sent] == [10] * 4
    wire.ui.handle_response({"id": "id1", "value": "A"})  # too late, and no one minds


@pytest.mark.behaviour("rpc-dialogs")
async def test_options_keep_their_descriptions() -> None:
    wire = Wire()
    options: list[str | Option] = [Option(label="A", description="the first"), "B"]

    assert await wire.answer_to(wire.ui.select("S", options), value="B") == "B"

    assert wire.sent == [
        {
            "type": "extension_ui_request",
            "id": "id1",
            "method": "select",
            "title": "S",
            "options": ["A", "B"],
            "descriptions": ["the first", ""],
        }
    ]


@pytest.mark.behaviour("rpc-dialogs")
async def test_a_secret_is_never_requested() -> None:
    wire = Wire()

    with pytest.raises(ExtensionError, match="“Key” asks for a secret"):
        await wire.ui.input("Key", secret=True)

    assert wire.sent == []


async def test_a_closed_connection_cancels_every_dialog() -> None:
    wire = Wire()
    waiting = asyncio.ensure_future(wire.ui.editor("E"))
    await asyncio.sleep(0)
    wire.ui.close()

    assert await waiting is None
    wire.ui.close()


async def test_notifications_are_sent_without_waiting_for_a_response() -> None:
    wire = Wire()
    ui = wire.ui
    ui.notify("n")
    ui.notify("n", "error")
    ui.set_status("k", "v")
    ui.set_status("k", None)
    ui.set_widget("w", ("a",), placement="belowEditor")
    ui.set_widget("w", None)
    ui.set_widget("w", lambda: ui)  # type: ignore[arg-type]
    ui.set_title("t")
    ui.set_title("")  # the client knows what its window is called
    ui.paste_to_editor("p")
    ui.set_fact("sandbox", "on")
    ui.add_footer_line("line", ui).invalidate()  # type: ignore[arg-type]

    reported = [
        {key: value for key, value in request.items() if key not in ("type", "id")}
        for request in wire.sent
    ]
    assert reported == [
        {"method": "notify", "message": "n"},
        {"method": "notify", "message": "n", "notifyType": "error"},
        {"method": "setStatus", "statusKey": "k", "statusText": "v"},
        {"method": "setStatus", "statusKey": "k"},
        {
            "method": "setWidget",
            "widgetKey": "w",
            "widgetLines": ["a"],
            "widgetPlacement": "belowEditor",
        },
        {"method": "setWidget", "widgetKey": "w"},
        {"method": "setTitle", "title": "t"},
        {"method": "set_editor_text", "text": "p"},
    ]
    assert (ui.has_ui, ui.get_editor_text(), await ui.custom(lambda: ui)) == (True, "", None)  # type: ignore[arg-type, return-value]
    assert ui.set_theme("x") == ThemeChange(
        success=False, error="Theme switching not supported in RPC mode"
    )


async def test_a_multiple_selection_uses_optional_fields() -> None:
    wire = Wire()
    names = ("A", "B", "C")

    assert await wire.answer_to(wire.ui.select("S", names, multi=True), values=["A", "C"]) == [
        "A",
        "C",
    ]
    initial = wire.ui.select("S", names, multi=True, initial=["B"])
    assert await wire.answer_to(initial, value="C") == ["C"]  # a client that knows only ``value``
    assert await wire.answer_to(wire.ui.select("S", names, initial="B"), value="B") == "B"
    assert await wire.answer_to(wire.ui.select("S", names, multi=True), cancelled=True) is None

    request = {"type": "extension_ui_request", "method": "select", "title": "S"}
    assert wire.sent[1] == request | {
        "id": "id2",
        "options": ["A", "B", "C"],
        "multi": True,
        "initial": ["B"],
    }
    assert wire.sent[2] == request | {"id": "id3", "options": ["A", "B", "C"], "initial": "B"}


async def test_over_rpc_a_timeout_is_distinct_from_a_cancel() -> None:
    wire = Wire()
    ui = wire.ui

    assert await ui.select("S", ["A"], timeout=0.01, on_timeout="late") == "late"
    assert await ui.confirm("C", "m", timeout=0.01, on_timeout="late") == "late"
    assert await ui.input("I", timeout=0.01, on_timeout="late") == "late"
    assert await ui.editor("E", timeout=0.01, on_timeout="late") == "late"
    declined = ui.select("S", ["A"], timeout=60, on_timeout="late")
    assert await wire.answer_to(declined, cancelled=True) is None


async def test_the_style_of_an_editor_is_sent_if_it_is_not_the_usual_one() -> None:
    wire = Wire()

    assert await wire.answer_to(wire.ui.editor("E", style="hook"), value="x") == "x"
    assert await wire.answer_to(wire.ui.editor("E"), value="x") == "x"
    assert [request.get("style") for request in wire.sent] == ["hook", None]


def test_a_placement_is_sent_in_the_spelling_of_the_protocol() -> None:
    wire = Wire()

    wire.ui.set_widget("w", ["a"], placement="below_editor")
    assert wire.sent[-1]["widgetPlacement"] == "belowEditor"
