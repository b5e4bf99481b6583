"""Events as lines of JSON, each with the time since its session began. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from pi.base.json_lines import encode_line

_encode = msgspec.json.Encoder().encode


def event_line(event: Any, since_session_ms: int) -> bytes:
    """The line of one event."""
    try:
        text = _encode(event)
    except UnicodeEncodeError:  # half a character, which the slower way mends
        text = encode_line(event).removesuffix(b"\n")
    return b'%b,"since_session_ms":%d}\n' % (text[:-1], since_session_ms)
