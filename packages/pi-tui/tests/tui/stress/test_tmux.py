from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from scripts.workspace import import_path
from tests.sampling import sampled
from tests.tui.stress.operations import CHANGES
from tests.tui.stress.shadow import Drawn, Shadow
from tests.tui.stress.simulated_app import SimulatedApp, Transcript, chrome_rows
from tests.tui.stress.tmux_demo import TEXTS, operations, steps_row
from tests.tui.stress.tmux_stream import ENDED, LINES

COLUMNS, ROWS = 60, 15
SECONDS = 60.0


class Tmux:
    """A private tmux server with one window that runs a module."""

    def __init__(self, tmux: str, root: Path, words: str) -> None:
        self._command = [tmux, "-L", f"pi-{uuid.uuid4().hex}", "-f", os.devnull]
        program = f"'{sys.executable}' -m tests.tui.stress.{words}"
        keep = ("set-option", "-g", "history-limit", "20000", ";")
        size = ("-x", str(COLUMNS), "-y", str(ROWS))
        subprocess.run(
            [*self._command, *keep, "new-session", "-d", *size, program],
            check=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": import_path(root)},
        )

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._command, *words], check=True, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stdout

    def resize(self, height: int) -> None:
        """Changes the height, and waits until tmux has reported it to the program."""
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
        """Returns history and screen without trailing blank rows."""
        rows = self.run("capture-pane", "-p", "-S", "-", "-E", "-").split("\n")
        return "\n".join(row.rstrip() for row in rows).rstrip("\n").split("\n")

    def close(self) -> None:
        subprocess.run([*self._command, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def start(program: Callable[[str, str], str], root: Path) -> Iterator[Callable[[str], Tmux]]:
    started: list[Tmux] = []

    def make(words: str) -> Tmux:
        started.append(Tmux(program("tmux", "the screen in a real multiplexer"), root, words))
        return started[-1]

    yield make
    for tmux in started:
        tmux.close()


def drawn(app: SimulatedApp, columns: int, *, steps: int) -> Drawn:
    transcript = Transcript(app)
    rows = transcript.render(columns)
    return Drawn(
        rows=[*rows, *chrome_rows(app, columns), steps_row(steps)],
        live=transcript.live_region_start,
        safe=transcript.commit_safe_end,
        overlay=None,
    )


def wait_for(tmux: Tmux, expected: list[str], step: object) -> None:
    end = time.monotonic() + SECONDS
    while (tape := tmux.tape()) != expected:
        assert time.monotonic() < end, f"{step}:\n{expected}\n{tape}"


@pytest.mark.slow
@pytest.mark.behaviour(
    "scrollback-is-never-erased", "committed-rows-are-final", "resizes-are-coalesced"
)
@pytest.mark.parametrize("seed", sampled(range(12), 1))
def test_tmux_has_every_row_once_and_in_order(seed: int, start: Callable[[str], Tmux]) -> None:
    tmux, app, shadow = start(f"tmux_demo {seed}"), SimulatedApp(seed, TEXTS), Shadow([])
    shadow.height = ROWS
    shadow.draw(drawn(app, COLUMNS, steps=0), columns=COLUMNS, wipe=False)
    wait_for(tmux, shadow.tape(), "the first frame")

    for count, step in enumerate(operations(seed), 1):
        if step.name in CHANGES:
            CHANGES[step.name][0](app, step.amount)
        else:
            height = 3 + step.amount % 20
            tmux.resize(height)
            shadow.lower(height)
        tmux.run("send-keys", "n")
        shadow.draw(drawn(app, COLUMNS, steps=count), columns=COLUMNS, wipe=False)
        wait_for(tmux, shadow.tape(), step)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize("seed", sampled(range(3), keep=1))
def test_tmux_has_every_row_once_after_resizes_during_output(
    seed: int, start: Callable[[str], Tmux]
) -> None:
    # A block higher than the window is being written: 200 of 200 runs kept each row once.
    tmux, random = start("tmux_stream"), Random(seed)
    for seen in ("#0020", "#0060", "#0100", "#0140", "#0180", ENDED):
        end = time.monotonic() + SECONDS
        while seen not in (tape := "\n".join(tmux.tape())):
            assert time.monotonic() < end, tape
        for _ in range(random.randrange(1, 4) if seen != ENDED else 0):
            # tmux reports only the first at once
            columns, rows = random.choice((45, 50, 60, 75)), random.choice((8, 9, 10, 12, 14, 25))
            tmux.run("resize-window", "-x", str(columns), "-y", str(rows))

    numbers = [f"#{number:04}" for number in range(LINES)]
    while sorted(re.findall(r"#\d{4}", "\n".join(tmux.tape()))) != numbers:
        assert time.monotonic() < end, "\n".join(tmux.tape())
