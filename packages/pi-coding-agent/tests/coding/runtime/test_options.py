"""The options of a session."""

from __future__ import annotations

import pytest

from pi.coding.runtime.options import SessionOptions, ToolFilter


def test_by_default_everything_is_discovered() -> None:
    options = SessionOptions()

    assert (options.model, options.approve, options.tools) == (None, None, ToolFilter())
    assert options.resources.context_files


@pytest.mark.behaviour("sub-agent-rights-are-bounded")
@pytest.mark.parametrize(
    ("filter", "limits", "expected"),
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
def test_a_tool_filter_is_restricted_by_limits(
    filter: ToolFilter, limits: ToolFilter, expected: ToolFilter
) -> None:
    assert filter.within(limits) == expected
