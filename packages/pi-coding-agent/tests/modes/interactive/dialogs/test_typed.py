from __future__ import annotations

import pytest

from pi.modes.interactive.dialogs.panel import summarise_message


@pytest.mark.parametrize(
    ("message", "typed"),
    [
        ("what is <file>?", "what is <file>?"),
        ('<file name="/home/ada/a.py">\nx = 1\n</file>\nexplain', "@a.py \nexplain"),
        ('<file name="a.py"> x </file> <file name="/b.png"></file> both', "@a.py  @b.png  both"),
        ('<file name="/home/ada/long.txt"> line 1 line 2', "@long.txt"),
        (
            '<skill name="review" location="/s/SKILL.md">\nRead.\n</skill>\nnow',
            "/skill:review \nnow",
        ),
        ("<b>bold</b>", "<b>bold</b>"),
    ],
)
def test_attached_files_in_a_message_are_shown_by_name_only(message: str, typed: str) -> None:
    assert summarise_message(message) == typed
