"""The fixtures of journeys, for tests that also run the original."""

from tests.journeys.conftest import journey, untouched

__all__ = ["journey", "untouched"]
