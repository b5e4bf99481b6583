"""Public test kit for pi and its extensions: fakes instead of mocks.

Everything is deterministic and works offline. Nothing in the product imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi.ai.testing import (
    FAUX_MODEL,
    Reply,
    ScriptedProvider,
    ScriptedStream,
    call,
    calls,
    says,
    thinks,
)
from pi.base.testing import FakeClock
from pi.testing.sessions import make_session

if TYPE_CHECKING:
    from pi.tui.testing import VirtualTerminal  # lazy: needs the terminal emulator

__all__ = [
    "FAUX_MODEL",
    "FakeClock",
    "Reply",
    "ScriptedProvider",
    "ScriptedStream",
    "VirtualTerminal",
    "call",
    "calls",
    "make_session",
    "says",
    "thinks",
]


def __getattr__(name: str) -> Any:
    if name == "VirtualTerminal":  # needs an emulator library that most tests do not
        from pi.tui.testing import VirtualTerminal

        return VirtualTerminal
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
