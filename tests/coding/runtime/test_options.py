"""What may be said about a session."""

from __future__ import annotations

import pytest

from pi.coding.runtime.options import SessionOptions, ToolWishes


def test_nothing_said_means_discover_everything() -> None:
    options = SessionOptions()

    assert (options.model, options.approve, options.tools) == (None, None, ToolWishes())
    assert options.resources.context_files


@pytest.mark.trap(136)
@pytest.mark.parametrize(
    ("wish", "limits", "left"),
    [
        (ToolWishes(), ToolWishes(), ToolWishes()),
        (ToolWishes(only=("bash",)), ToolWishes(), ToolWishes(only=("bash",))),
        (ToolWishes(), ToolWishes(only=("read",)), ToolWishes(only=("read",))),
        (ToolWishes(only=("read", "bash")), ToolWishes(only=("read",)), ToolWishes(only=("read",))),
        (ToolWishes(), ToolWishes(without=("bash",)), ToolWishes(without=("bash",))),
        (ToolWishes(), ToolWishes(any=False), ToolWishes(any=False)),
        (ToolWishes(), ToolWishes(built_in=False), ToolWishes(built_in=False)),
    ],
)
def test_nobody_gets_tools_that_whoever_asks_may_not_have(
    wish: ToolWishes, limits: ToolWishes, left: ToolWishes
) -> None:
    assert wish.within(limits) == left
