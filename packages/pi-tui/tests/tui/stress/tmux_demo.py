"""The program inside tmux: applies the operations of a seed, one per key ``n``."""

from __future__ import annotations

import asyncio
import os
import sys
from random import Random

from pi.tui.terminals.posix import ProcessTerminal
from pi.tui.tui import TUI
from tests.tui.stress.operations import CHANGES, Operation, random_operations
from tests.tui.stress.simulated_app import Chrome, SimulatedApp, Transcript

TEXTS = (
    "plain words that say nothing much",
    "日本語のテキスト",
    "some \x1b[1mbold\x1b[22m and \x1b[38;5;9mred\x1b[39m text",
    "a long paragraph " + "that has to be wrapped because it does not fit " * 3,
    "",
)
"""Texts whose width tmux agrees on."""

OPERATIONS = 40


def operations(seed: int) -> list[Operation]:
    """Returns the operations: changes of the app, and sometimes another height."""
    expected = random_operations(Random(seed), 200)
    return [step for step in expected if step.name in CHANGES or step.name == "resize_height"][
        :OPERATIONS
    ]


def steps_row(count: int) -> str:
    """Returns a row with the number of applied operations.

    Most operations have no other visible effect, and the test must wait until they are painted.
    """
    return f"step {count}"


class Driver:
    """Handles the keys."""

    def __init__(self, app: SimulatedApp, tui: TUI, seed: int) -> None:
        self.focused = False
        self.ended = asyncio.Event()
        self._steps = 0
        self._app = app
        self._tui = tui
        self._operations = iter(operations(seed))

    def render(self, width: int) -> list[str]:
        return [steps_row(self._steps)]

    def invalidate(self) -> None:
        pass

    def handle_input(self, data: str) -> None:
        if data == "q":
            self.ended.set()
            return
        operation = next(self._operations)
        self._steps += 1
        if operation.name in CHANGES:
            CHANGES[operation.name][0](self._app, operation.amount)
        self._tui.request_render()


async def main(seed: int) -> None:
    app = SimulatedApp(seed, TEXTS)
    tui = TUI(ProcessTerminal(env=os.environ), env=os.environ, strict=True)
    driver = Driver(app, tui, seed)
    tui.add_child(Transcript(app))
    tui.add_child(Chrome(app))
    tui.add_child(driver)
    tui.set_focus(driver)
    with tui:
        await driver.ended.wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
