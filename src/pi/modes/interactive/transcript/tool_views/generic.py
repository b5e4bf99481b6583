"""Any other tool: its arguments on one row, the first lines of what it says."""

from __future__ import annotations

import msgspec

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.call import Call
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.tool_views.view import Shown, failure, folded_head, painted

ROWS = 5


def generic_view(call: Call, look: Look, width: int) -> Shown:
    """Arguments as ``name=value``, or one per row when expanded."""
    pairs = [one_line(f"{name}={_value(value)}") for name, value in call.arguments.items()]
    muted = look.theme.paint("muted")
    if look.is_expanded:
        title, rows = "", [muted(pair) for pair in pairs]
    else:
        title, rows = muted(" ".join(pairs)), []
    if call.state == "failed":
        head = folded_head(rows, len(rows), look, width)
        return Shown(title, [*head, *failure(call, look, width)])
    lines = painted(call.text, look.theme.paint("toolOutput"))
    body = folded_head([*rows, *lines], ROWS, look, width)
    return Shown(title, body)


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
