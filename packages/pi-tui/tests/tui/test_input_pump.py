from __future__ import annotations

from pi.tui.input.decoder import Decoder, InputDecision, InputEvent, InputReader, KeyListeners
from pi.tui.terminal import Timing
from tests.tui.manual_timers import ManualTimers


def pump() -> tuple[InputReader, ManualTimers, list[InputEvent]]:
    events: list[InputEvent] = []
    timers = ManualTimers()
    return InputReader(Decoder(Timing()), timers, events.append), timers, events


def test_a_sequence_split_across_reads_is_one_key() -> None:
    feeder, timers, events = pump()

    feeder.feed(b"\x1b[")
    timers.advance(0.001)
    feeder.feed(b"A")

    assert events == ["\x1b[A"]


def test_a_lone_escape_is_delivered_after_its_timeout() -> None:
    feeder, timers, events = pump()

    feeder.feed(b"\x1b")
    assert events == []
    timers.advance(0.02)

    assert events == ["\x1b"]


def test_no_event_is_delivered_after_stop() -> None:
    feeder, timers, events = pump()

    feeder.feed(b"\x1b")
    feeder.stop()
    timers.advance(1)

    assert events == []


def test_listeners_can_consume_or_replace_a_key() -> None:
    listeners = KeyListeners()
    listeners.add(lambda data: InputDecision(consume=True) if data == "q" else None)
    remove = listeners.add(lambda data: InputDecision(data=data.upper()))

    assert (listeners.filtered("q"), listeners.filtered("a")) == (None, "A")
    remove()
    assert listeners.filtered("a") == "a"
