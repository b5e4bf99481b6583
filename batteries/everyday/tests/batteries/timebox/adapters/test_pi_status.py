from __future__ import annotations

from typing import cast

from pi.batteries.timebox.adapters.pi import StatusLine
from pi.extension import ExtensionAPI
from tests.batteries.timebox.adapters.fake_pi import FakePi


def status_line(pi: FakePi, texts: list[str | None]) -> StatusLine:
    return StatusLine(cast("ExtensionAPI", pi), lambda: texts[0])


def test_a_text_is_shown_only_when_it_changes() -> None:
    pi, texts = FakePi(), ["12s left"]
    line = status_line(pi, texts)  # type: ignore[arg-type]

    for text in ("12s left", "12s left", "11s left"):
        texts[0] = text
        line.show()

    assert pi.statuses == ["12s left", "11s left"]


def test_a_timer_is_replaced_and_ended() -> None:
    pi = FakePi()
    line = status_line(pi, ["12s left"])

    line.follow(running=True)
    line.follow(running=True)
    assert (pi.timers_started, len(pi.timers)) == (2, 1)
    line.follow(running=False)

    assert pi.timers == []


def test_an_empty_text_removes_the_status() -> None:
    pi, texts = FakePi(), [None]
    line = status_line(pi, texts)  # type: ignore[arg-type]

    line.show()
    texts[0] = "12s left"  # type: ignore[call-overload]
    line.show()
    texts[0] = None
    line.show()

    assert pi.statuses == ["12s left", None]
