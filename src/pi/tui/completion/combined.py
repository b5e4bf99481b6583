"""Several providers as one: the first that has an answer gives it."""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.completion.provider import Completed, Provider, Suggestion, Suggestions


class CombinedProvider:
    """Asks providers in turn, and lets the one that answered apply what was chosen."""

    def __init__(self, providers: Sequence[Provider]) -> None:
        self._providers = tuple(providers)
        self._answered: Provider | None = None

    @property
    def trigger_characters(self) -> str:
        """Those of all providers."""
        return "".join(provider.trigger_characters for provider in self._providers)

    async def get_suggestions(
        self, lines: Sequence[str], row: int, col: int, *, force: bool
    ) -> Suggestions | None:
        """The first answer."""
        for provider in self._providers:
            if found := await provider.get_suggestions(lines, row, col, force=force):
                self._answered = provider
                return found
        return None

    def apply_completion(
        self, lines: Sequence[str], row: int, col: int, item: Suggestion, prefix: str
    ) -> Completed:
        """What the provider that answered last makes of its suggestion."""
        provider = self._answered or self._providers[0]
        return provider.apply_completion(lines, row, col, item, prefix)

    def should_trigger_file_completion(self, lines: Sequence[str], row: int, col: int) -> bool:
        """Whether all providers agree that Tab completes here."""
        return all(
            provider.should_trigger_file_completion(lines, row, col) for provider in self._providers
        )
