"""The public kit for testing pi and its extensions: fakes instead of mocks.

Everything here is deterministic and works offline. Nothing in the product imports it.
"""

from pi.ai.providers.faux import FauxProvider as ScriptedProvider
from pi.ai.providers.faux import Reply, call, calls, says, thinks
from pi.testing.clock import FakeClock
from pi.testing.streams import ScriptedStream

__all__ = [
    "FakeClock",
    "Reply",
    "ScriptedProvider",
    "ScriptedStream",
    "call",
    "calls",
    "says",
    "thinks",
]
