"""``-p``: say something, print the last answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.agent.policy import Next
from pi.coding.runtime.port import SessionPort
from pi.modes.endings import exit_code_of, failure_of
from pi.modes.json_lines import Prompt
from pi.modes.output import Output


async def run_print(
    port: SessionPort, prompts: Sequence[Prompt], output: Output, complain: Callable[[str], None]
) -> int:
    """Say everything, one after another, and print the last answer; the exit code."""
    ended: Next | None = None
    for prompt in prompts:
        ended = await port.prompts.prompt(prompt.text, prompt.images)
    if (failure := failure_of(port)) is not None:
        complain(failure)
    elif (answer := port.facts.last_answer()) is not None:
        output.write(f"{answer}\n".encode("utf-8", "replace"))
    return exit_code_of(port, ended)
