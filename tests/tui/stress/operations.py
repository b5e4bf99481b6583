"""What can happen to the world, as data: a failing sequence can be cut down and told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.tui.stress.world import World


class Operation(NamedTuple):
    """One thing that happens, with a number that says how much or where."""

    name: str
    amount: int
    paint: bool = True
    """Whether a frame is painted after it, or only after a later one."""


def append(world: World, amount: int) -> None:
    world.add_block(1 + amount % 30, is_final=True)


def start_stream(world: World, amount: int) -> None:
    world.add_block(1 + amount % 3, is_final=False)
    world.blocks[-1].is_append_only = amount % 4 != 0


def stream(world: World, amount: int) -> None:
    world.live().lines += [world.line() for _ in range(1 + amount % 12)]


def stream_words(world: World, amount: int) -> None:
    lines = world.live().lines
    lines[-1:] = ["".join(lines[-1:]) + " word" * (1 + amount % 6)]


def rewrite_tail(world: World, amount: int) -> None:
    lines = world.live().lines
    count = min(len(lines), 1 + amount % 4)
    lines[len(lines) - count :] = [world.line() for _ in range(count)]


def shrink_live(world: World, amount: int) -> None:
    lines = world.live().lines
    del lines[max(0, len(lines) - amount % 20) :]


def grow_live(world: World, amount: int) -> None:
    lines = world.live().lines
    lines.insert(amount % (len(lines) + 1), world.line())


def finish(world: World, amount: int) -> None:
    world.live().is_final = True


def collapse(world: World, amount: int) -> None:
    """A final block gets shorter although it may be history already."""
    if world.blocks:
        lines = world.blocks[amount % len(world.blocks)].lines
        del lines[1 + amount % 3 :]


def edit_history(world: World, amount: int) -> None:
    if world.blocks and (lines := world.blocks[amount % len(world.blocks)].lines):
        lines[amount % len(lines)] = world.line()


def remove_block(world: World, amount: int) -> None:
    if world.blocks:
        del world.blocks[amount % len(world.blocks)]


def forget_all(world: World, amount: int) -> None:
    world.blocks.clear()


def tick(world: World, amount: int) -> None:
    world.spinner += 1


def stop_spinner(world: World, amount: int) -> None:
    world.spinner = 0


def edit(world: World, amount: int) -> None:
    world.editor = amount % 6
    world.has_caret = amount % 7 > 0
    world.footer = amount % 3


def change_theme(world: World, amount: int) -> None:
    world.theme = amount % 7


CHANGES: dict[str, tuple[Callable[[World, int], None], int]] = {
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
"""What changes the world, and how often."""

GESTURES = {"resize": 3, "resize_height": 2, "clear": 1, "overlay": 4, "scroll": 6, "suspend": 1}
"""What is done to the screen itself, and how often."""


def random_operations(random: Random, count: int) -> list[Operation]:
    weights = {name: weight for name, (_, weight) in CHANGES.items()} | GESTURES
    names = random.choices(list(weights), list(weights.values()), k=count)
    return [Operation(name, random.randrange(1000), random.random() < 0.8) for name in names]
