from __future__ import annotations

import pytest

from pi.modes.phases import observe_phases, phase, ready


class PhaseLog:
    """Records the reported phases."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def began(self, name: str) -> None:
        self.lines.append(f"{name} began")

    def ended(self, name: str) -> None:
        self.lines.append(f"{name} ended")

    def ready(self) -> None:
        self.lines.append("ready")


def test_an_observer_gets_nested_phases() -> None:
    diary = PhaseLog()

    with observe_phases(diary), phase("a"):
        with phase("a:b"):
            pass
        ready()

    assert diary.lines == ["a began", "a:b began", "a:b ended", "ready", "a ended"]


def test_a_phase_that_fails_has_ended_too() -> None:
    diary = PhaseLog()

    with observe_phases(diary), pytest.raises(ZeroDivisionError), phase("a"):
        raise ZeroDivisionError

    assert diary.lines == ["a began", "a ended"]


def test_without_an_observer_no_phases_are_reported() -> None:
    diary = PhaseLog()
    with observe_phases(diary):
        pass

    with phase("a"):
        ready()

    assert diary.lines == []
