"""The bus emits in order, folds answers, and survives failing handlers."""

from __future__ import annotations

from typing import Any, Self

import pytest

from pi.base.records import replace
from pi.coding.bus import Event, EventBus, Owner, Query

THEIRS = Owner(name="theirs", path="/theirs.py")


class Happened(Event):
    what: str


class Allowed(Query):
    text: str
    refused: bool = False

    def with_answer(self, answer: str | bool) -> Self:
        if isinstance(answer, bool):
            return replace(self, refused=not answer)
        return replace(self, text=answer)

    def after_failure(self, error: Exception) -> Self:
        return replace(self, refused=True)

    @property
    def is_settled(self) -> bool:
        return self.refused


async def test_all_subscribers_get_an_event_in_order() -> None:
    bus, received = EventBus(), list[str]()

    async def slowly(event: Happened) -> None:
        received.append(f"first {event.what}")

    bus.subscribe(Happened, slowly)
    bus.subscribe(Happened, lambda event: received.append(f"second {event.what}"))
    await bus.emit(Happened(what="it"))

    assert received == ["first it", "second it"]


async def test_an_unsubscribed_handler_gets_no_events() -> None:
    bus, received = EventBus(), list[Event]()
    end = bus.subscribe(Happened, received.append)
    assert Happened in bus.subscribed
    end()
    end()
    await bus.emit(Happened(what="it"))

    assert (received, Happened in bus.subscribed) == ([], False)


async def test_each_handler_gets_the_query_with_the_answers_of_earlier_handlers() -> None:
    bus = EventBus()
    bus.subscribe(Allowed, lambda question: question.text + "b")
    bus.subscribe(Allowed, lambda question: None)
    bus.subscribe(Allowed, lambda question: question.text + "c")

    assert await bus.query(Allowed(text="a")) == Allowed(text="abc")


async def test_a_settled_query_is_not_passed_to_later_handlers() -> None:
    bus, calls = EventBus(), list[str]()
    bus.subscribe(Allowed, lambda question: False)
    bus.subscribe(Allowed, lambda question: calls.append("too late"))

    assert await bus.query(Allowed(text="a")) == Allowed(text="a", refused=True)
    assert calls == []


async def test_a_failing_handler_is_reported_and_later_handlers_are_called() -> None:
    failures: list[tuple[str, str]] = []
    bus = EventBus(lambda owner, event, error: failures.append((owner.name, str(error))))
    received: list[Event] = []

    def fails(event: Happened) -> None:
        raise ValueError("no")

    bus.subscribe(Happened, fails, owner=THEIRS)
    bus.subscribe(Happened, received.append)
    await bus.emit(Happened(what="it"))

    assert (failures, received) == ([("theirs", "no")], [Happened(what="it")])


async def test_a_query_defines_the_effect_of_a_failing_handler() -> None:
    bus = EventBus(lambda owner, event, error: None)

    def fails(question: Allowed) -> None:
        raise ValueError("no")

    bus.subscribe(Allowed, fails)

    assert (await bus.query(Allowed(text="a"))).refused


async def test_an_answer_to_a_query_without_answers_is_reported() -> None:
    class Plain(Query):
        pass

    failures: list[str] = []
    bus = EventBus(lambda owner, event, error: failures.append(str(error)))
    bus.subscribe(Plain, lambda question: 1)
    await bus.query(Plain())

    assert failures == ["Plain takes no answers"]


async def test_without_a_reporter_failures_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()

    def fails(event: Happened) -> None:
        raise ValueError("no")

    bus.subscribe(Happened, fails, owner=THEIRS)
    await bus.emit(Happened(what="it"))

    assert "a handler of theirs failed during Happened" in caplog.text


async def test_handlers_of_pi_run_before_extensions_and_last_ones_after_them() -> None:
    bus, received = EventBus(), list[str]()
    project = Owner(name="project", path="/project.py", rank="project")

    def subscribe(name: str, **options: Any) -> None:
        bus.subscribe(Happened, lambda event: received.append(name), **options)

    subscribe("pi last", at="last")
    subscribe("extension last", owner=THEIRS, at="last")
    subscribe("project", owner=project)
    subscribe("extension", owner=THEIRS)
    subscribe("pi")
    subscribe("extension first", owner=THEIRS, at="first")
    await bus.emit(Happened(what="it"))

    assert received == [
        "extension first",
        "pi",
        "extension",
        "project",
        "extension last",
        "pi last",
    ]


async def test_subscribers_that_are_added_during_an_event_get_the_next_one() -> None:
    bus, received = EventBus(), list[str]()

    def first(event: Happened) -> None:
        end()
        bus.subscribe(Happened, lambda event: received.append(f"added {event.what}"))

    end = bus.subscribe(Happened, first)
    await bus.emit(Happened(what="one"))
    await bus.emit(Happened(what="two"))

    assert received == ["added two"]


async def test_an_exception_that_the_publisher_expects_propagates() -> None:
    failures: list[str] = []
    bus = EventBus(lambda owner, event, error: failures.append(str(error)))

    def stop(event: Event) -> None:
        raise LookupError("stop")

    bus.subscribe(Happened, stop)
    bus.subscribe(Allowed, stop)
    with pytest.raises(LookupError):
        await bus.emit(Happened(what="it"), raises=(LookupError,))
    with pytest.raises(LookupError):
        await bus.query(Allowed(text="a"), raises=(LookupError,))
    await bus.emit(Happened(what="it"))

    assert failures == ["stop"]
