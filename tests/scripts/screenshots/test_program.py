from __future__ import annotations

import sys
from pathlib import Path

from scripts.screenshots.program import running

PROGRAM = """
import sys
print("\\x1b[1mbold\\x1b[0m 日本")
print("said", input())
input()
"""


def test_a_running_program_can_be_read_and_typed_to(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM]
    with running(command, cwd=tmp_path, env={"LANG": "C.UTF-8"}, columns=20, rows=5) as seen:
        seen.wait_for("日本")
        seen.type("hello\n")
        seen.wait_for("said hello")
        first = seen.cells()[0]

    assert len(first) == 20
    assert "".join(cell.text for cell in first).rstrip() == "bold 日本"
    assert [cell.style["bold"] for cell in first[:6]] == [True] * 4 + [False] * 2
