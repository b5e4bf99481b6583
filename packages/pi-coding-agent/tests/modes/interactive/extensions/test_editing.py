from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.modes.interactive.extensions.editor import ExtensionEditing, as_decision
from pi.modes.interactive.layout import AppLayout
from pi.tui.input.decoder import InputDecision
from tests.modes.interactive.extensions.layouts import Editor, new_frame


def editing(tmp_path: Path) -> tuple[AppLayout, ExtensionEditing, list[str]]:
    frame = new_frame(tmp_path)
    reported: list[str] = []
    return frame, ExtensionEditing(frame, ("tui", "theme", "keys"), reported.append), reported


async def test_texts_are_read_and_written(tmp_path: Path) -> None:
    frame, made, _ = editing(tmp_path)

    made.set_text("one")
    made.paste(" two")

    assert frame.composer.text == "one two"


async def test_replacing_the_editor_keeps_the_text(tmp_path: Path) -> None:
    frame, made, _ = editing(tmp_path)
    made.set_text("kept")
    editor = Editor()

    made.use(lambda: editor)
    assert (made.component, editor.text, editor.focused) == (editor, "kept", True)

    frame.composer.prompt.handle_input("!")
    made.use(None)
    assert (made.component, frame.composer.text, editor.focused) == (None, "kept!", False)


async def test_an_editor_that_fails_is_removed_after_the_frame(tmp_path: Path) -> None:
    frame, made, reported = editing(tmp_path)
    made.use(lambda: Editor("x"))

    made.set_text("broken")
    frame.composer.prompt.render(80)
    frame.composer.prompt.render(80)
    assert reported == []
    await asyncio.sleep(0)

    assert reported == ["The editor of an extension failed: ValueError('no rows')"]
    assert (made.component, frame.composer.text) == (None, "broken")


async def test_key_listeners_can_consume_or_change_keys(tmp_path: Path) -> None:
    _, made, _ = editing(tmp_path)
    received: list[str] = []
    end = made.listen(lambda data: {"consume": True} if data == "x" else {"data": f"{data}!"})
    made.listen(received.append)

    assert [made._filter_key(data) for data in ("x", "y")] == [
        InputDecision(consume=True),
        InputDecision(data="y!"),
    ]
    end()
    assert (made._filter_key("x"), received) == (InputDecision(data="x"), ["y!", "x"])


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (None, None),
        ("nonsense", None),
        ({}, InputDecision()),
        ({"consume": True}, InputDecision(consume=True)),
        ({"data": "x"}, InputDecision(data="x")),
        (InputDecision(consume=True), InputDecision(consume=True)),
    ],
)
def test_the_result_of_a_key_listener_may_be_a_dict(
    answer: Any, decision: InputDecision | None
) -> None:
    assert as_decision(answer) == decision
