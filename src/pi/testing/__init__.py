"""Public test kit for pi and its extensions: fakes instead of mocks.

Everything is deterministic and works offline. Nothing in the product imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi.ai.providers.faux import FAUX_MODEL, Reply, call, calls, says, thinks
from pi.ai.providers.faux import FauxProvider as ScriptedProvider
from pi.testing.fakes import FakeClock, ScriptedStream
from pi.testing.sessions import make_session

if TYPE_CHECKING:
    from pi.testing.virtual_terminal import VirtualTerminal  # lazy: needs the terminal emulator

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
        from pi.testing.virtual_terminal import VirtualTerminal

        return VirtualTerminal
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
