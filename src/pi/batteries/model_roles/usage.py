"""How often each model was chosen, for the order of the list. Stored for all sessions."""

from __future__ import annotations

from pi.extension import ExtensionAPI, Model

KEY = "chosen"
MOST = 5
"""Models that are listed first."""
KEPT = 50


class ModelUsage:
    """Counts choices of models."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def count(self, model: Model) -> None:
        """Count a choice. Older choices fade, so that a new favourite comes to the top."""
        name = f"{model.provider}/{model.id}"
        counts = {each: value * 0.95 for each, value in self._counts().items()}
        counts[name] = counts.get(name, 0.0) + 1.0
        kept = sorted(counts, key=counts.__getitem__, reverse=True)[:KEPT]
        await self._pi.store("global").set(KEY, {each: round(counts[each], 4) for each in kept})

    def most_used(self) -> tuple[str, ...]:
        """Return ``provider/id`` of the models that are chosen most, the first most often."""
        counts = self._counts()
        return tuple(sorted(counts, key=counts.__getitem__, reverse=True)[:MOST])

    def _counts(self) -> dict[str, float]:
        stored = self._pi.store("global").get(KEY, {})
        if not isinstance(stored, dict):
            return {}
        return {str(k): float(v) for k, v in stored.items() if isinstance(v, (int, float))}
