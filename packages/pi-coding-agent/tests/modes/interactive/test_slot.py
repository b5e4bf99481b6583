from __future__ import annotations

from pi.modes.interactive.dialog_slot import DialogSlot
from pi.tui.component import Component
from pi.tui.widgets.text import Text


def test_the_last_pushed_dialog_is_shown_and_focused() -> None:
    focused: list[Component] = []
    resident, typist, one, two = (Text(name, 0, 0) for name in ("resident", "typist", "one", "two"))
    slot = DialogSlot(resident, typist, focused.append)

    slot.push(one)
    slot.push(two)
    assert slot.render(10) == ["two"]
    slot.remove(one)
    assert slot.render(10) == ["two"]
    slot.remove(two)

    assert slot.render(10) == ["resident"]
    assert not slot.has_dialog
    assert focused == [one, two, two, typist]


def test_rows_of_a_dialog_beyond_those_of_the_editor_are_transient() -> None:
    resident, typist = Text("one\ntwo", 0, 0), Text("typist", 0, 0)
    slot = DialogSlot(resident, typist, lambda target: None)
    slot.render(10)

    slot.push(Text("one\ntwo\nthree\nfour\nfive", 0, 0))
    slot.render(10)
    row_count = slot.transient_rows
    slot.push(Text("one", 0, 0))
    slot.render(10)
    smaller = slot.transient_rows
    slot.clear()

    assert (row_count, smaller, slot.transient_rows, slot.has_dialog) == (3, 0, 0, False)
