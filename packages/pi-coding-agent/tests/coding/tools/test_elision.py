from __future__ import annotations

import pytest

from pi.agent.tools.tool import ToolFailed
from pi.coding.tools.matching import elisions, refuse_elisions


@pytest.mark.behaviour("elision-is-never-written")
@pytest.mark.parametrize(
    "line",
    [
        "[2 more lines in file. Use offset=3 to continue.]",
        "[More than 2 more lines in file. Use offset=3 to continue.]",
        "[Showing lines 1-2000 of 3001. Use offset=2001 to continue.]",
        "[Showing lines 1001-3000 of 3000. Full output: /tmp/x.log]",
        "[Showing last 50.0KB of line 1 (line is 58.6KB). Full output: /tmp/x.log]",
        "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' f | head -c 51200]",
        "z" * 500 + "... [truncated]",
        "    // ... existing code ...",
        "# ... rest of the file unchanged ...",
        "/* ... remaining methods ... */",
        "<!-- ... rest of content ... -->",
        "… unchanged code …",
    ],
)
def test_placeholder_lines_are_detected(line: str) -> None:
    assert elisions(f"before\n{line}\nafter") == [line.strip()]


@pytest.mark.parametrize(
    "line",
    [
        "...",
        "    ...",
        "def f(): ...",
        "print(*args, ...)",
        'text = "[2 more lines in file. Use offset=3 to continue.]"',
        "// ... and so it goes",
        "[Showing off]",
        "Loading… please wait",
        "# existing code is kept",
    ],
)
def test_lines_that_only_resemble_placeholders_are_not_detected(line: str) -> None:
    assert elisions(line) == []


def test_a_placeholder_is_rejected_unless_it_was_in_the_file_before() -> None:
    marks = elisions("# ... existing code ...")

    refuse_elisions(marks, before="x\n  # ... existing code ...\n")
    refuse_elisions([], before="")
    with pytest.raises(ToolFailed, match="stands for text that was left out"):
        refuse_elisions(marks, before="x")
