"""Custom messages sent through the SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.events import AgentStart, MessageEnd
from pi.base.errors import PiError
from pi.base.records import replace
from pi.coding.port.results import Streaming
from pi.coding.session.entries import CustomMessage
from pi.testing import says
from tests.coding.runtime.session_fixture import SessionFixture

NOTE = CustomMessage(custom_type="weather", content="It rains.", details={"city": "Oslo"})


def shown(fixture: SessionFixture, number: int) -> list[str]:
    """The contents of the messages of a request."""
    return [str(message.content) for message in fixture.provider.requests[number].messages]


async def test_a_custom_message_is_stored_and_sent_with_the_next_prompt(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    async with await fixture.open() as session:
        received: list[object] = []
        session.subscribe(received.append)
        await session.send_custom_message(NOTE)

        assert [event for event in received if isinstance(event, AgentStart)] == []
        stored = replace(NOTE, timestamp=fixture.clock.now_ms())
        assert [event.message for event in received if isinstance(event, MessageEnd)] == [stored]
        assert stored in session.messages
        await session.prompt("go")

    texts = " ".join(shown(fixture, 0))
    assert texts.index("It rains.") < texts.index("go")


async def test_a_custom_message_may_be_a_dict(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path)
    async with await fixture.open() as session:
        await session.send_custom_message(
            {"custom_type": "weather", "content": "It rains.", "details": {"city": "Oslo"}}
        )
        with pytest.raises(PiError, match="'customtype' is not a field"):
            await session.send_custom_message({"customtype": "weather", "content": "It rains."})

        assert replace(NOTE, timestamp=fixture.clock.now_ms()) in session.messages


async def test_a_custom_message_can_start_a_run(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("Take an umbrella."))
    async with await fixture.open() as session:
        await session.send_custom_message(NOTE, trigger_turn=True)

        assert session.info.last_answer() == "Take an umbrella."


@pytest.mark.parametrize("deliver_as", ["steer", "followUp"])
async def test_a_custom_message_is_queued_during_a_run(
    tmp_path: Path, deliver_as: Streaming
) -> None:
    fixture = SessionFixture(tmp_path, says("first"), says("second"))
    async with await fixture.open() as session:

        async def interfere(event: object) -> None:
            if isinstance(event, MessageEnd) and getattr(event.message, "text", "") == "first":
                await session.send_custom_message(NOTE, deliver_as=deliver_as)

        session.subscribe(interfere)
        await session.prompt("go")

        assert session.info.last_answer() == "second"


async def test_send_user_message_does_not_expand_templates(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("ok"))
    prompts = fixture.agent_dir / "prompts"
    prompts.mkdir()
    (prompts / "greet.md").write_text("Say hello.")
    async with await fixture.open() as session:
        answer = await session.send_user_message("/greet Ada")

        assert answer is not None
        assert answer.text == "ok"
    assert "/greet Ada" in shown(fixture, 0)[-1]
