from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tui.stress.operations import CHANGES
from tests.tui.stress.shadow import Drawn, Shadow
from tests.tui.stress.tmux_demo import TEXTS, operations, steps_row
from tests.tui.stress.world import Transcript, World, chrome_rows

COLUMNS, ROWS = 60, 15
SECONDS = 60.0


class Tmux:
    """A tmux server of our own with one window."""

    def __init__(self, tmux: str, root: Path, seed: int) -> None:
        self._command = [tmux, "-L", f"pi-{uuid.uuid4().hex}", "-f", os.devnull]
        program = f"'{sys.executable}' -m tests.tui.stress.tmux_demo {seed}"
        environment = {**os.environ, "PYTHONPATH": str(root)}
        subprocess.run(
            [*self._command, "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), program],
            check=True,
            cwd=root,
            env=environment,
        )
        self.run("set-option", "-g", "history-limit", "20000")

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._command, *words], check=True, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stdout

    def resize(self, height: int) -> None:
        """Change the height; returns when the program could know, which tmux tells it later."""
        self.run("resize-window", "-x", str(COLUMNS), "-y", str(height))
        device = os.open(
            self.run("display-message", "-p", "#{pane_tty}").strip(), os.O_RDONLY | os.O_NOCTTY
        )
        end = time.monotonic() + SECONDS
        try:
            while os.get_terminal_size(device).lines != height:
                assert time.monotonic() < end
        finally:
            os.close(device)

    def tape(self) -> list[str]:
        """History and screen, without the blank rows at the end."""
        rows = self.run("capture-pane", "-p", "-S", "-", "-E", "-").split("\n")
        return "\n".join(row.rstrip() for row in rows).rstrip("\n").split("\n")

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def start(program: Callable[[str, str], str], root: Path) -> Iterator[Callable[[int], Tmux]]:
    started: list[Tmux] = []

    def make(seed: int) -> Tmux:
        started.append(Tmux(program("tmux", "the screen in a real multiplexer"), root, seed))
        return started[-1]

    yield make
    for tmux in started:
        tmux.close()


def drawn(world: World, columns: int, *, steps: int) -> Drawn:
    transcript = Transcript(world)
    rows = transcript.render(columns)
    return Drawn(
        rows=[*rows, *chrome_rows(world, columns), steps_row(steps)],
        live=transcript.live_region_start,
        safe=transcript.commit_safe_end,
        overlay=None,
    )


def wait_for(tmux: Tmux, wanted: list[str], step: object) -> None:
    end = time.monotonic() + SECONDS
    while (tape := tmux.tape()) != wanted:
        assert time.monotonic() < end, f"{step}:\n{wanted}\n{tape}"


@pytest.mark.slow
@pytest.mark.trap(152, 153, 156)
@pytest.mark.parametrize("seed", range(12))
def test_in_tmux_every_row_is_there_once_and_in_order(
    seed: int, start: Callable[[int], Tmux]
) -> None:
    tmux, world, shadow = start(seed), World(seed, TEXTS), Shadow([])
    shadow.height = ROWS
    shadow.draw(drawn(world, COLUMNS, steps=0), columns=COLUMNS, wipe=False)
    wait_for(tmux, shadow.tape(), "the first frame")

    for taken, step in enumerate(operations(seed), 1):
        if step.name in CHANGES:
            CHANGES[step.name][0](world, step.amount)
        else:
            height = 3 + step.amount % 20
            tmux.resize(height)
            shadow.lower(height)
        tmux.run("send-keys", "n")
        shadow.draw(drawn(world, COLUMNS, steps=taken), columns=COLUMNS, wipe=False)
        wait_for(tmux, shadow.tape(), step)
