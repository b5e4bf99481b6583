"""Long text made short: its beginning, its end, and how much is missing between. Pure."""

from __future__ import annotations

HEAD = 0.6
"""The beginning's part of what is left: the end of an output is where errors are."""
SMALLEST = 20
"""Characters below which two ends say nothing."""


def shortened(text: str, most: int, *, where: str = "") -> str:
    """``text`` in at most ``most`` characters; ``where`` says where the rest can be found."""
    if len(text) <= most:
        return text
    mark = f"\n[... about {len(text) - most} characters left out{where} ...]\n"
    room = most - len(mark)
    if room < SMALLEST:
        return ""
    head = int(room * HEAD)
    return f"{text[:head]}{mark}{text[len(text) - (room - head) :]}"
