from __future__ import annotations

from pi.tui.widgets.editor.history import MAX_KILL_RING_ENTRIES, KillRing


def test_rotate_returns_the_texts_from_latest_to_oldest_in_a_cycle() -> None:
    ring = KillRing()
    for text in ("one", "two", "three"):
        ring.add(text)

    assert [ring.latest, ring.rotate(), ring.rotate(), ring.rotate()] == [
        "three",
        "two",
        "one",
        "three",
    ]


def test_consecutive_kills_are_joined_into_one_text() -> None:
    ring = KillRing()

    ring.extend("b", at_front=False)
    ring.extend("a", at_front=True)
    ring.extend("c", at_front=False)

    assert ring.latest == "abc"


def test_an_empty_text_is_not_added_and_an_empty_ring_returns_an_empty_text() -> None:
    ring = KillRing()
    ring.add("")

    assert (ring.latest, ring.rotate()) == ("", "")


def test_the_oldest_texts_are_dropped() -> None:
    ring = KillRing()
    for number in range(MAX_KILL_RING_ENTRIES + 1):
        ring.add(str(number))

    assert ring.rotate() == str(MAX_KILL_RING_ENTRIES - 1)
    assert [ring.rotate() for _ in range(MAX_KILL_RING_ENTRIES)][-2] == str(MAX_KILL_RING_ENTRIES)


def test_change_applies_a_function_to_the_texts() -> None:
    ring = KillRing()
    ring.add("a")
    ring.change(str.upper)

    assert ring.latest == "A"
