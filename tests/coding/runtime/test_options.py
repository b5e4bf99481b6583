"""What may be said about a session."""

from __future__ import annotations

import pytest

from pi.coding.runtime.options import SessionOptions, ToolFilter


def test_nothing_said_means_discover_everything() -> None:
    options = SessionOptions()

    assert (options.model, options.approve, options.tools) == (None, None, ToolFilter())
    assert options.resources.context_files


@pytest.mark.behaviour("sub-agent-rights-are-bounded")
@pytest.mark.parametrize(
    ("wish", "limits", "left"),
    [
        (ToolFilter(), ToolFilter(), ToolFilter()),
        (ToolFilter(only=("bash",)), ToolFilter(), ToolFilter(only=("bash",))),
        (ToolFilter(), ToolFilter(only=("read",)), ToolFilter(only=("read",))),
        (ToolFilter(only=("read", "bash")), ToolFilter(only=("read",)), ToolFilter(only=("read",))),
        (ToolFilter(), ToolFilter(without=("bash",)), ToolFilter(without=("bash",))),
        (ToolFilter(), ToolFilter(any=False), ToolFilter(any=False)),
        (ToolFilter(), ToolFilter(built_in=False), ToolFilter(built_in=False)),
    ],
)
def test_nobody_gets_tools_that_whoever_asks_may_not_have(
    wish: ToolFilter, limits: ToolFilter, left: ToolFilter
) -> None:
    assert wish.within(limits) == left
