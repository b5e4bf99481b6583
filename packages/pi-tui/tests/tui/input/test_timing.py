from __future__ import annotations

from collections.abc import Mapping

import pytest

from pi.tui.terminal import Timing, timing


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, Timing(escape=0.01, introducer=0.05)),
        ({"SSH_TTY": "/dev/pts/1"}, Timing(escape=0.1, introducer=0.1)),
        ({"SSH_CONNECTION": "a"}, Timing(escape=0.1, introducer=0.1)),
        ({"SSH_TTY": ""}, Timing(escape=0.01, introducer=0.05)),
        ({"PI_TUI_ESC_TIMEOUT": "25"}, Timing(escape=0.025, introducer=0.05)),
        ({"SSH_TTY": "x", "PI_TUI_ESC_TIMEOUT": "0"}, Timing(escape=0.0, introducer=0.05)),
        ({"PI_TUI_ESC_TIMEOUT": "soon"}, Timing(escape=0.01, introducer=0.05)),
        ({"PI_TUI_ESC_TIMEOUT": "-5"}, Timing(escape=0.01, introducer=0.05)),
    ],
)
def test_the_escape_timeout_depends_on_the_connection(
    env: Mapping[str, str], expected: Timing
) -> None:
    assert timing(env) == expected
