"""Operations on the simulated app as data, so that a failing sequence can be shrunk and printed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.tui.stress.simulated_app import SimulatedApp


class Operation(NamedTuple):
    """An operation, with a number for its extent or position."""

    name: str
    amount: int
    paint: bool = True
    """Whether a frame is painted after it, or only after a later one."""


def append(app: SimulatedApp, amount: int) -> None:
    app.add_block(1 + amount % 30, is_final=True)


def start_stream(app: SimulatedApp, amount: int) -> None:
    app.add_block(1 + amount % 3, is_final=False)
    app.blocks[-1].is_append_only = amount % 4 != 0


def stream(app: SimulatedApp, amount: int) -> None:
    app.live().lines += [app.line() for _ in range(1 + amount % 12)]


def stream_words(app: SimulatedApp, amount: int) -> None:
    lines = app.live().lines
    lines[-1:] = ["".join(lines[-1:]) + " word" * (1 + amount % 6)]


def rewrite_tail(app: SimulatedApp, amount: int) -> None:
    lines = app.live().lines
    count = min(len(lines), 1 + amount % 4)
    lines[len(lines) - count :] = [app.line() for _ in range(count)]


def shrink_live(app: SimulatedApp, amount: int) -> None:
    lines = app.live().lines
    del lines[max(0, len(lines) - amount % 20) :]


def grow_live(app: SimulatedApp, amount: int) -> None:
    lines = app.live().lines
    lines.insert(amount % (len(lines) + 1), app.line())


def finish(app: SimulatedApp, amount: int) -> None:
    app.live().is_final = True


def collapse(app: SimulatedApp, amount: int) -> None:
    """Shortens a final block, which may be history already."""
    if app.blocks:
        lines = app.blocks[amount % len(app.blocks)].lines
        del lines[1 + amount % 3 :]


def edit_history(app: SimulatedApp, amount: int) -> None:
    if app.blocks and (lines := app.blocks[amount % len(app.blocks)].lines):
        lines[amount % len(lines)] = app.line()


def remove_block(app: SimulatedApp, amount: int) -> None:
    if app.blocks:
        del app.blocks[amount % len(app.blocks)]


def forget_all(app: SimulatedApp, amount: int) -> None:
    app.blocks.clear()


def tick(app: SimulatedApp, amount: int) -> None:
    app.spinner += 1


def stop_spinner(app: SimulatedApp, amount: int) -> None:
    app.spinner = 0


def edit(app: SimulatedApp, amount: int) -> None:
    app.editor = amount % 6
    app.has_caret = amount % 7 > 0
    app.footer = amount % 3


def change_theme(app: SimulatedApp, amount: int) -> None:
    app.theme = amount % 7


CHANGES: dict[str, tuple[Callable[[SimulatedApp, int], None], int]] = {
    function.__name__: (function, weight)
    for function, weight in (
        (append, 8),
        (start_stream, 6),
        (stream, 12),
        (stream_words, 12),
        (rewrite_tail, 6),
        (shrink_live, 3),
        (grow_live, 3),
        (finish, 6),
        (collapse, 1),
        (edit_history, 1),
        (remove_block, 1),
        (forget_all, 1),
        (tick, 8),
        (stop_spinner, 2),
        (edit, 6),
        (change_theme, 2),
    )
}
"""Operations that change the app, and their frequencies."""

GESTURES = {"resize": 3, "resize_height": 2, "clear": 1, "overlay": 4, "scroll": 6, "suspend": 1}
"""Operations on the screen itself, and their frequencies."""


def random_operations(random: Random, count: int) -> list[Operation]:
    weights = {name: weight for name, (_, weight) in CHANGES.items()} | GESTURES
    names = random.choices(list(weights), list(weights.values()), k=count)
    return [Operation(name, random.randrange(1000), random.random() < 0.8) for name in names]
