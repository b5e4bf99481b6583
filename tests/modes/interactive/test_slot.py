from __future__ import annotations

from pi.modes.interactive.slot import Slot
from pi.tui.component import Component
from pi.tui.widgets.text import Text


def test_the_last_guest_is_shown_and_has_the_keys() -> None:
    focused: list[Component] = []
    resident, typist, one, two = (Text(name, 0, 0) for name in ("resident", "typist", "one", "two"))
    slot = Slot(resident, typist, focused.append)

    slot.push(one)
    slot.push(two)
    assert slot.component.render(10) == ["two"]
    slot.remove(one)
    assert slot.component.render(10) == ["two"]
    slot.remove(two)

    assert slot.component.render(10) == ["resident"]
    assert not slot.is_taken
    assert focused == [one, two, two, typist]
