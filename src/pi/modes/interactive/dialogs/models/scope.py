"""Which models are cycled through, and in which order. Pure."""

from __future__ import annotations

from pi.base.records import Record, replace


class Scope(Record):
    """Names of models; without a choice of them, all are on, in their own order."""

    all: tuple[str, ...]
    chosen: tuple[str, ...] | None = None

    def is_on(self, name: str) -> bool:
        """Whether a model is cycled through."""
        return self.chosen is None or name in self.chosen

    @property
    def listed(self) -> tuple[str, ...]:
        """Those that are on, in their order, then the others."""
        on = self.chosen or ()
        return (*on, *(name for name in self.all if name not in on))

    def toggled(self, name: str) -> Scope:
        """With one model switched. The first switch of all leaves only that model on."""
        if self.chosen is None:
            return replace(self, chosen=(name,))
        if name in self.chosen:
            return self._with(tuple(each for each in self.chosen if each != name))
        return self._with((*self.chosen, name))

    def with_all(self) -> Scope:
        """With all on."""
        return replace(self, chosen=None)

    def with_none(self) -> Scope:
        """With none on."""
        return replace(self, chosen=())

    def with_provider_toggled(self, provider: str) -> Scope:
        """With all models of a provider on; or off, if they all were on."""
        of_provider = [name for name in self.all if name.startswith(f"{provider}/")]
        on = self.all if self.chosen is None else self.chosen
        if all(name in on for name in of_provider):
            return self._with(tuple(name for name in on if name not in of_provider))
        return self._with((*on, *(name for name in of_provider if name not in on)))

    def moved(self, name: str, step: int) -> Scope:
        """With a model that is on moved up or down among those that are."""
        order = list(self.all if self.chosen is None else self.chosen)
        if name not in order:
            return self
        at = order.index(name)
        to = max(0, min(at + step, len(order) - 1))
        order.insert(to, order.pop(at))
        return replace(self, chosen=tuple(order))

    def _with(self, chosen: tuple[str, ...]) -> Scope:
        return replace(self, chosen=None if chosen == self.all else chosen)
