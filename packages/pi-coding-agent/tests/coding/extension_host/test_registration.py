from __future__ import annotations

from pi.coding.extension_host.scope import Registration


def test_a_registration_is_removed_once() -> None:
    ended: list[int] = []
    registration = Registration(lambda: ended.append(1))

    assert registration.active
    registration.remove()
    registration.remove()

    assert (ended, registration.active) == ([1], False)


def test_removing_a_forgotten_registration_has_no_effect() -> None:
    ended: list[int] = []
    registration = Registration(lambda: ended.append(1))

    registration.forget()
    registration.remove()

    assert ended == []
