from __future__ import annotations

from collections.abc import Sequence

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.diagnostics import repair_note
from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.repairing import ask_with_repairs
from pi.ai.request import Call, StreamOptions
from pi.testing.clock import FakeClock

MODEL = Model(id="m", name="M", api="a", provider="p")
REFUSAL = BadRequest("400: no", status=400)


class Asked:
    """A question with one repair per refusal, and what was seen of it."""

    def __init__(self, *answers: BadRequest | None, repairs: Sequence[str] = ("a", "b")) -> None:
        self.builder = MessageBuilder(MODEL, now_ms=0)
        self.delivered: list[Json] = []
        self._answers = list(answers)
        self._repairs = repairs

    async def ask(self) -> None:
        none: tuple[str, ...] = ()
        await ask_with_repairs(
            Call(model=MODEL, messages=(), options=StreamOptions(on_payload=self._agree)),
            self.builder,
            FakeClock(now_ms=7),
            repairs=none,
            encode=lambda done: {"without": done},
            deliver=self._deliver,
            next_repair=self._next_repair,
        )

    async def _agree(self, payload: Json, _: Model) -> Json:
        return {**payload, "agreed": True}

    async def _deliver(self, payload: Json) -> None:
        self.delivered.append(payload)
        if (refusal := self._answers.pop(0)) is not None:
            raise refusal

    def _next_repair(
        self, refusal: BadRequest, payload: Json, done: tuple[str, ...]
    ) -> tuple[str, tuple[str, ...]] | None:
        assert (refusal, payload) == (REFUSAL, {"without": done, "agreed": True})
        left = self._repairs[len(done) :]
        return (f"{left[0]} refused", (*done, left[0])) if left else None


async def test_an_accepted_request_is_asked_once() -> None:
    asked = Asked(None)

    await asked.ask()

    assert asked.delivered == [{"without": (), "agreed": True}]
    assert asked.builder.diagnostics == []


async def test_every_repair_is_agreed_upon_delivered_and_noted() -> None:
    asked = Asked(REFUSAL, REFUSAL, None)

    await asked.ask()

    assert asked.delivered == [
        {"without": (), "agreed": True},
        {"without": ("a",), "agreed": True},
        {"without": ("a", "b"), "agreed": True},
    ]
    assert asked.builder.diagnostics == [
        repair_note("a refused", REFUSAL, 7),
        repair_note("b refused", REFUSAL, 7),
    ]


async def test_a_refusal_that_no_repair_helps_against_is_raised() -> None:
    asked = Asked(REFUSAL, REFUSAL, repairs=("a",))

    with pytest.raises(BadRequest):
        await asked.ask()

    assert len(asked.delivered) == 2


async def test_nothing_is_asked_again_once_a_part_of_the_answer_is_there() -> None:
    asked = Asked(REFUSAL)
    asked.builder.text("block", "part")

    with pytest.raises(BadRequest):
        await asked.ask()

    assert len(asked.delivered) == 1
    assert asked.builder.diagnostics == []
