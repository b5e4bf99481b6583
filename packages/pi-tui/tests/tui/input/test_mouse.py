from __future__ import annotations

import pytest

from pi.tui.input.reports import MouseReport, parse_mouse


@pytest.mark.parametrize(
    ("data", "report"),
    [
        ("\x1b[<0;3;5M", MouseReport(action="press", button="left", x=2, y=4)),
        ("\x1b[<0;3;5m", MouseReport(action="release", button="left", x=2, y=4)),
        ("\x1b[<2;1;1M", MouseReport(action="press", button="right", x=0, y=0)),
        ("\x1b[<33;9;9M", MouseReport(action="drag", button="middle", x=8, y=8)),
        ("\x1b[<35;9;9M", MouseReport(action="move", button="none", x=8, y=8)),
        ("\x1b[<64;9;9M", MouseReport(action="wheel", button="none", x=8, y=8, wheel_delta=-1)),
        ("\x1b[<65;9;9M", MouseReport(action="wheel", button="none", x=8, y=8, wheel_delta=1)),
        ("\x1b[<66;9;9M", MouseReport(action="wheel", button="none", x=8, y=8)),
        (
            "\x1b[<28;2;2M",
            MouseReport(action="press", button="left", x=1, y=1, shift=True, alt=True, ctrl=True),
        ),
        ("\x1b[<0;0;0M", MouseReport(action="press", button="left", x=0, y=0)),
        ("\x1b[<128;2;2M", MouseReport(action="press", button="none", x=1, y=1)),
        ("\x1b[<0;3M", None),
        ("a", None),
    ],
)
def test_mouse_reports_are_parsed(data: str, report: MouseReport | None) -> None:
    assert parse_mouse(data) == report
