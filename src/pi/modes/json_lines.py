"""``--mode json``: the session's header, then every event, one per line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from pi.agent.policy import Next
from pi.ai.messages import Image
from pi.base.json_lines import encode_line
from pi.base.records import Record
from pi.modes.endings import Ending
from pi.modes.output import Output
from pi.modes.phases import phase
from pi.modes.records import event_line

if TYPE_CHECKING:
    from pi.coding.runtime.port import SessionPort


class Prompt(Record):
    """Something to say."""

    text: str
    images: tuple[Image, ...] = ()


async def say_all(port: SessionPort, prompts: Sequence[Prompt]) -> Next | None:
    """Say everything, one after another; how the last run ended, if there was one."""
    ended: Next | None = None
    for number, prompt in enumerate(prompts):
        with phase("print:prompt:next" if number else "print:prompt:initial"):
            ended = await port.prompts.prompt(prompt.text, prompt.images)
    return ended


async def run_json(
    port: SessionPort, prompts: Sequence[Prompt], output: Output, complain: Callable[[str], None]
) -> int:
    """Send every prompt, one after another; returns the exit code.

    Errors of the model are in the events. Why a policy ended the run is in none of them, so it is
    passed to ``complain``.
    """
    output.write_json(encode_line(port.facts.header))
    ending = Ending()

    def tell(event: Any) -> Awaitable[None] | None:
        ending.hear(event)
        output.write_json(event_line(event, port.since_session_ms()))
        return output.drained() if output.is_behind else None

    end = port.subscribe(tell)
    try:
        ended = await say_all(port, prompts)
    finally:
        output.stop_waiting()
        end()
    if (reason := ending.stopped(ended)) is not None:
        complain(reason)
    return ending.exit_code(ended)
