"""Counters of the relay, as Prometheus reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


class Metrics:
    """Counters since the start. No room id, address or content is kept."""

    def __init__(self) -> None:
        self.deliveries = 0
        self.bytes = 0
        self._refusals: Counter[str] = Counter()

    def delivered(self, size: int) -> None:
        """Count one message to one receiver."""
        self.deliveries += 1
        self.bytes += size

    def refused(self, reason: str) -> None:
        """Count a message or connection that was not accepted."""
        self._refusals[reason] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """The page for ``/metrics``; ``gauges`` are the current numbers."""
        rows = [
            *_rows("deliveries_total", "counter", self.deliveries),
            *_rows("delivered_bytes_total", "counter", self.bytes),
            "# TYPE pi_relay_refused_total counter",
            *(
                f'pi_relay_refused_total{{reason="{reason}"}} {count}'
                for reason, count in sorted(self._refusals.items())
            ),
        ]
        for name, value in gauges.items():
            rows += _rows(name, "gauge", value)
        return "\n".join(rows) + "\n"


def _rows(name: str, kind: str, value: float) -> tuple[str, str]:
    return f"# TYPE pi_relay_{name} {kind}", f"pi_relay_{name} {value:g}"
