"""Dialog to choose the models to cycle through."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.fuzzy import rank
from pi.base.records import Record, replace
from pi.base.terminal_text import one_line
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.model_picker import discover
from pi.modes.interactive.dialogs.panel import list_rows, make_panel
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component

# Models in the cycle ------------------------------------------------------------------------------


class Scope(Record):
    """Names of models; without a selection, all are on, in their default order."""

    all: tuple[str, ...]
    chosen: tuple[str, ...] | None = None

    def is_on(self, name: str) -> bool:
        """Return whether a model is in the cycle."""
        return self.chosen is None or name in self.chosen

    @property
    def listed(self) -> tuple[str, ...]:
        """The models that are on, in order, then the others."""
        on = self.chosen or ()
        return (*on, *(name for name in self.all if name not in on))

    def toggled(self, name: str) -> Scope:
        """Return the scope with one model toggled.

        The first toggle of all leaves only that model on.
        """
        if self.chosen is None:
            return replace(self, chosen=(name,))
        if name in self.chosen:
            return self._with(tuple(other for other in self.chosen if other != name))
        return self._with((*self.chosen, name))

    def with_all(self) -> Scope:
        """Return the scope with all models on."""
        return replace(self, chosen=None)

    def with_none(self) -> Scope:
        """Return the scope with no model on."""
        return replace(self, chosen=())

    def with_provider_toggled(self, provider: str) -> Scope:
        """Return the scope with all models of a provider on; off, if all were on."""
        of_provider = [name for name in self.all if name.startswith(f"{provider}/")]
        on = self.all if self.chosen is None else self.chosen
        if all(name in on for name in of_provider):
            return self._with(tuple(name for name in on if name not in of_provider))
        return self._with((*on, *(name for name in of_provider if name not in on)))

    def moved(self, name: str, step: int) -> Scope:
        """Return the scope with a model moved up or down among those that are on."""
        order = list(self.all if self.chosen is None else self.chosen)
        if name not in order:
            return self
        index = order.index(name)
        to = max(0, min(index + step, len(order) - 1))
        order.insert(to, order.pop(index))
        return replace(self, chosen=tuple(order))

    def _with(self, chosen: tuple[str, ...]) -> Scope:
        return replace(self, chosen=None if chosen == self.all else chosen)


# Dialog -------------------------------------------------------------------------------------------

_KEYS = (
    ("tui.select.confirm", "switch"),
    ("app.models.enableAll", "all"),
    ("app.models.clearAll", "none"),
    ("app.models.toggleProvider", "provider"),
    ("app.models.reorderUp", "move up"),
    ("app.models.reorderDown", "move down"),
    ("app.models.save", "save"),
    ("tui.select.cancel", "close"),
)
_MORE_HINTS = 1
"""Rows that the hints take beyond the first."""


class PickedScope(Record):
    """The models to cycle through, empty for all, and whether to save them as default."""

    names: tuple[str, ...]
    as_default: bool = False


async def pick_scope(ui: Ui) -> PickedScope | None:
    """Return the user's selection; ``None`` if nothing changed."""
    models = ui.port.models

    def names() -> tuple[str, ...]:
        return tuple(map(full_name, models.registry.get_available()))

    def build(done: Callable[[PickedScope | None], None]) -> Component:
        scoped = tuple(full_name(choice.model) for choice in models.scope)
        choice = ScopeChoice(ui, Scope(all=names(), chosen=scoped or None), done)
        discover(ui, then=lambda: choice.set_names(names()))
        return make_panel(ui, "Scoped models", choice.picker, lambda: _KEYS)

    return await ui.show(build)


class ScopeChoice:
    """Models with a checkbox; changes apply when the list is closed."""

    def __init__(self, ui: Ui, scope: Scope, done: Callable[[PickedScope | None], None]) -> None:
        self._theme = ui.theme
        self._before = self._scope = scope
        self._done = done
        self.picker = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, self._scope.listed),
            draw=self._draw,
            rows=lambda: list_rows(ui, more=_MORE_HINTS),
            on_pick=lambda name: self._set_scope(self._scope.toggled(name), name),
            on_cancel=self._close,
            keys={
                "app.models.enableAll": lambda name: self._set_scope(self._scope.with_all(), name),
                "app.models.clearAll": lambda name: self._set_scope(self._scope.with_none(), name),
                "app.models.toggleProvider": self._toggle_provider,
                "app.models.reorderUp": lambda name: self._move(name, -1),
                "app.models.reorderDown": lambda name: self._move(name, 1),
                "app.models.save": lambda name: done(self._result(as_default=True)),
            },
            head=self._head,
            empty="No model has credentials: /login gives access to some",
        )

    def set_names(self, names: tuple[str, ...]) -> None:
        """Set the list of models."""
        self._before = replace(self._before, all=names)
        self._set_scope(replace(self._scope, all=names), self.picker.selected)

    def _set_scope(self, scope: Scope, name: str | None) -> None:
        self._scope = scope
        self.picker.refresh()
        self.picker.select(lambda candidate: candidate == name)

    def _toggle_provider(self, name: str | None) -> None:
        if name is not None:
            self._set_scope(self._scope.with_provider_toggled(name.partition("/")[0]), name)

    def _move(self, name: str | None, step: int) -> None:
        if name is not None:
            self._set_scope(self._scope.moved(name, step), name)

    def _close(self) -> None:
        self._done(None if self._scope == self._before else self._result(as_default=False))

    def _result(self, *, as_default: bool) -> PickedScope:
        return PickedScope(names=self._scope.chosen or (), as_default=as_default)

    def _head(self, width: int) -> list[str]:
        chosen = self._scope.chosen
        text = "all models" if chosen is None else f"{len(chosen)} of {len(self._scope.all)} models"
        return [self._theme.paint("muted")(text)]

    def _draw(self, name: str, width: int, *, selected: bool) -> str:
        box = self._theme.paint("success")("[x]") if self._scope.is_on(name) else "[ ]"
        text = one_line(name)
        return f"{box} {self._theme.paint('accent')(text) if selected else text}"
