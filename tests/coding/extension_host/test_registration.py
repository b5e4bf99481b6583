from __future__ import annotations

from pi.coding.extension_host.scope import Registration


def test_a_registration_ends_once() -> None:
    ended: list[int] = []
    registration = Registration(lambda: ended.append(1))

    assert registration.active
    registration.remove()
    registration.remove()

    assert (ended, registration.active) == ([1], False)


def test_a_forgotten_registration_ends_nothing() -> None:
    ended: list[int] = []
    registration = Registration(lambda: ended.append(1))

    registration.forget()
    registration.remove()

    assert ended == []
