"""``-p``: say something, print the last answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi.base.terminal_text import sanitise
from pi.modes.endings import Ending
from pi.modes.json_lines import Prompt, say_all
from pi.modes.output import Output

if TYPE_CHECKING:
    from pi.coding.runtime.port import SessionPort

INCOMPLETE = "Warning: the answer is incomplete, because the model has reached its output limit."


async def run_print(
    port: SessionPort, prompts: Sequence[Prompt], output: Output, complain: Callable[[str], None]
) -> int:
    """Say everything, one after another, and print the last answer; the exit code.

    An answer that the output limit has cut off is one; that it is not whole is told beside it.
    """
    ending = Ending()
    end = port.subscribe(ending.hear)
    try:
        ended = await say_all(port, prompts)
    finally:
        end()
    if (problem := ending.failure or ending.stopped(ended)) is not None:
        complain(problem)
    elif ending.answer is not None:
        if text := ending.answer.text:
            # A file or a program gets every byte; a terminal would do what they say.
            shown = sanitise(text) if output.is_terminal else text
            output.write(f"{shown}\n".encode("utf-8", "replace"))
        if ending.answer.stop_reason == "length":
            complain(INCOMPLETE)
    return ending.exit_code(ended)
