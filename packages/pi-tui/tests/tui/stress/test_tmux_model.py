from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from pi.tui.screen.screen import Frame, Repaint, Screen
from pi.tui.text.wrap import wrap_text
from tests.sampling import sampled
from tests.tui.stress.tmux_model import TmuxModel

SECONDS = 60.0
COLUMNS, ROWS = 40, 12
TEXTS = (
    "",
    "short",
    "日本語のテキスト" * 4,
    "words that have to be wrapped " * 4,
    "x" * 70,
    "─" * 40,
)


@pytest.fixture
def run(program: Callable[[str, str], str], tmp_path: Path) -> Iterator[Callable[..., str]]:
    command = [program("tmux", "what a real pane does"), "-S", str(tmp_path / "socket")]

    def run(*words: str) -> str:
        done = subprocess.run(
            [*command, "-u", "-f", os.devnull, *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.stdout

    yield run
    subprocess.run([*command, "kill-server"], check=False, capture_output=True)


class Player:
    """Paints random frames on a pane, like the real program."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.model = TmuxModel(COLUMNS, ROWS)
        self.screen = Screen(COLUMNS, ROWS, in_pane=True)
        self.lines: list[str] = []

    def frame(self) -> str:
        """Returns the bytes of the next frame: the text has grown, and the rows below it differ."""
        for _ in range(self.random.randrange(4)):
            self.lines.append(f"{len(self.lines)} {self.random.choice(TEXTS)}".rstrip())
        if self.lines and self.random.random() < 0.3:
            self.lines[-1] += " and more of it"
        width = self.model.columns
        rows = [row for line in self.lines for row in wrap_text(line, width)]
        chrome = ["─" * width, f"> {self.random.randrange(10**6)}"[:width]]
        chrome += [f"below {number}"[:width] for number in range(self.random.randrange(3))]
        frame = Frame([*rows, *chrome], max(len(rows) - 1, 0))
        repaint = self.random.choice((Repaint.CHANGES, Repaint.CHANGES, Repaint.WINDOW))
        return self.screen.paint(frame, repaint=repaint)

    def resize(self, columns: int, rows: int) -> None:
        """Resizes the pane, and maybe notifies the program."""
        self.model.resize(columns, rows)
        if self.random.random() < 0.8:
            self.screen.resize_in_place(columns, rows, pane=self.model.tape)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(6), 2))
def test_the_model_behaves_like_tmux(seed: int, run: Callable[..., str], tmp_path: Path) -> None:
    player, gate = Player(seed), tmp_path / "gate"
    os.mkfifo(gate)
    # Every frame waits for the gate, so that it arrives at the right size.
    script = f"stty raw -echo; while cat '{gate}'; do :; done"
    run("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), script)

    for step in range(40):
        data = player.frame()
        player.model.write(data)
        gate.write_text(f"{data}\x1b]2;step {step}\x07")
        end = time.monotonic() + SECONDS
        while run("display-message", "-p", "#{pane_title}") != f"step {step}\n":
            assert time.monotonic() < end
        assert shown(run) == state(player.model), data
        if step % 4 == 3:
            columns, rows = player.random.randrange(10, 90), player.random.randrange(4, 30)
            run("resize-window", "-x", str(columns), "-y", str(rows))
            player.resize(columns, rows)
            assert shown(run) == state(player.model), (columns, rows)


def shown(run: Callable[..., str]) -> tuple[str, list[str]]:
    """Returns the cursor position of the real pane, and its rows."""
    place = "#{history_size} #{cursor_y} #{cursor_x}"
    text = run("display-message", "-p", place, ";", "capture-pane", "-p", "-S", "-")
    first, *rows = text.removesuffix("\n").split("\n")
    return first, [row.rstrip() for row in rows]


def state(model: TmuxModel) -> tuple[str, list[str]]:
    """Returns cursor position and rows of the model."""
    row, column = model.cursor
    return f"{model.above} {row} {column}", list(model.tape.rows)
