from __future__ import annotations

from pi.tui.overlays import Bounds, FocusState, OverlayOptions, Overlays
from pi.tui.screen.rows import Layer
from pi.tui.terminal import Size
from tests.tui.parts import Field, Rows


def make() -> tuple[Overlays, Field]:
    overlays = Overlays(FocusState(), size=lambda: Size(columns=40, rows=10))
    editor = Field()
    overlays.set_focus_below(editor)
    return overlays, editor


def test_an_overlay_takes_the_focus_and_restores_it() -> None:
    overlays, editor = make()
    dialog = Field()

    handle = overlays.show(dialog)
    assert (handle.is_focused, editor.focused) == (True, False)
    handle.hide()
    assert (overlays.focus.target, editor.focused, len(overlays)) == (editor, True, 0)


def test_a_covered_overlay_receives_the_focus_again() -> None:
    overlays, editor = make()
    first, second = overlays.show(Field()), overlays.show(Field())

    assert (first.is_focused, second.is_focused) == (False, True)
    second.hide()
    assert first.is_focused
    first.set_hidden(True)
    assert overlays.focus.target is editor
    first.set_hidden(False)
    assert first.is_focused


def test_a_focus_change_below_takes_effect_when_the_overlay_is_hidden() -> None:
    overlays, _ = make()
    handle, other = overlays.show(Field()), Field()

    overlays.set_focus_below(other)
    assert handle.is_focused
    handle.hide()
    assert overlays.focus.target is other


def test_a_non_capturing_overlay_has_the_focus_only_on_request() -> None:
    overlays, editor = make()

    handle = overlays.show(Field(), OverlayOptions(non_capturing=True))
    assert overlays.focus.target is editor
    handle.focus()
    overlays.update_focus()  # as before every key
    assert handle.is_focused
    handle.hide()
    assert overlays.focus.target is editor


def test_a_non_capturing_overlay_has_no_focus_when_it_is_shown_again() -> None:
    overlays, editor = make()
    handle = overlays.show(Field(), OverlayOptions(non_capturing=True))

    handle.set_hidden(True)
    handle.set_hidden(False)

    assert overlays.focus.target is editor


def test_an_overlay_that_is_shown_again_has_the_focus_over_a_later_one() -> None:
    overlays, _ = make()
    first, second = overlays.show(Field()), overlays.show(Field())

    first.set_hidden(True)
    first.set_hidden(False)
    overlays.update_focus()  # as before every key

    assert (first.is_focused, overlays.handles) == (True, (second, first))


def test_an_overlay_can_release_the_focus_and_receive_it_again() -> None:
    overlays, editor = make()
    handle, other = overlays.show(Field()), Field()

    handle.unfocus()
    assert overlays.focus.target is editor
    handle.focus()
    assert handle.is_focused
    handle.unfocus(other)
    assert overlays.focus.target is other


def test_an_overlay_whose_visibility_condition_fails_is_neither_shown_nor_focused() -> None:
    overlays, editor = make()

    handle = overlays.show(Field(), OverlayOptions(visible=lambda columns, rows: columns > 60))

    assert (overlays.layers(), overlays.has_visible, handle.bounds) == ([], False, None)
    assert overlays.focus.target is editor


def test_the_focused_overlay_is_on_top() -> None:
    overlays, _ = make()
    lower = overlays.show(Rows("a"), OverlayOptions(width=4, anchor="top-left"))
    upper = overlays.show(Rows("b"), OverlayOptions(width=4, anchor="top-left"))
    lower.focus()

    assert overlays.layers() == [Layer(0, 0, 4, ["b"]), Layer(0, 0, 4, ["a"])]
    assert upper.bounds == Bounds(0, 0, 4, 1)
    overlays.remove_top()
    assert overlays.handles == (upper,)


def test_a_tall_overlay_is_truncated_to_its_maximum_height() -> None:
    overlays, _ = make()

    overlays.show(Rows(*"abcdef"), OverlayOptions(width=4, max_height=2, row=0, col=0))

    assert overlays.layers() == [Layer(0, 0, 4, ["a", "b"])]


def test_hiding_twice_changes_nothing() -> None:
    overlays, editor = make()
    handle = overlays.show(Field())

    handle.hide()
    handle.hide()

    assert (len(overlays), overlays.focus.target) == (0, editor)


def test_a_pressed_overlay_has_the_focus_until_it_is_hidden() -> None:
    overlays, editor = make()
    field = Field()
    handle = overlays.show(field, OverlayOptions(non_capturing=True))

    overlays.focus_pressed(field)
    assert handle.is_focused
    handle.hide()
    assert overlays.focus.target is editor


def test_pressing_a_component_below_the_overlays_focuses_it() -> None:
    overlays, _ = make()
    other = Field()

    overlays.focus_pressed(other)

    assert overlays.focus.target is other
