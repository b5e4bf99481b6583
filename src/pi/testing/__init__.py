"""The public kit for testing pi and its extensions: fakes instead of mocks.

Everything here is deterministic and works offline. Nothing in the product imports it.
"""

from pi.testing.clock import FakeClock

__all__ = ["FakeClock"]
