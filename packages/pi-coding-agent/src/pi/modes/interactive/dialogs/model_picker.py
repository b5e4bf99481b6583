"""Dialog to choose the model."""

from __future__ import annotations

from collections.abc import Callable

from pi.ai.models.model import Model
from pi.ai.providers.chosen_servers import ServerStatus
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.models.catalog_age import catalog_age
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.columns import GAP, spread, tab_row
from pi.modes.interactive.dialogs.model_catalogue import (
    _ABILITIES,
    ALL,
    ModelCatalogue,
    known_models,
    price,
    window,
)
from pi.modes.interactive.dialogs.panel import DialogHints, list_rows, make_panel, no_hints
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.text.width import visible_width

# Model --------------------------------------------------------------------------------------------


def discover(ui: Ui, then: Callable[[], None]) -> None:
    """Query local servers in the background; calls ``then`` when they have answered."""

    async def ask() -> None:
        await ui.port.models.discover()
        then()
        ui.request_render()

    ui.tasks.start(ask(), name="local models")


_KEYS = (
    ("tui.select.confirm", "use"),
    ("app.models.save", "use and make default"),
    ("tui.input.tab", "provider"),
    ("tui.select.cancel", "cancel"),
)


class PickedModel(Record):
    """A choice, and whether it becomes the default."""

    model: Model
    as_default: bool = False


async def pick_model(
    ui: Ui, title: str = "Model", *, can_be_default: bool = True, aside: DialogHints = no_hints
) -> PickedModel | None:
    """Return the model that the user chooses; ``can_be_default`` offers to save it."""
    keys = _KEYS if can_be_default else tuple(key for key in _KEYS if key[0] != "app.models.save")

    def build(done: Callable[[PickedModel | None], None]) -> Component:
        choice = ModelChoice(ui, models_of(ui), done)
        discover(ui, then=lambda: choice.set_catalogue(models_of(ui)))
        return make_panel(ui, title, choice.picker, lambda: keys, aside=aside)

    return await ui.show(build)


def models_of(ui: Ui) -> ModelCatalogue:
    """Build the catalogue of the session."""
    models, values = ui.port.models, ui.port.settings.values
    return known_models(
        models.registry.get_all(),
        models.registry.get_available(),
        offered=models.registry.get_offered(),
        found={server.provider: _in_short(server) for server in models.registry.not_chosen()},
        current=models.current,
        default=(values.default_provider, values.default_model),
        scope=[choice.model for choice in models.scope],
        notes=models.notes,
        age=catalog_age(models.registry.models.catalog, ui.clock.now_ms()),
    )


def _in_short(status: ServerStatus) -> str:
    what = "owner changed" if status.state == "other owner" else "not chosen yet, owner"
    return f"{what}: {status.owner}"


async def may_ask_server(ui: Ui, provider: str) -> bool:
    """Show the owner of a local server and return whether the user wants to use it."""
    servers = [
        server for server in ui.port.models.registry.not_chosen() if server.provider == provider
    ]
    if not servers:
        return True
    title = f"Use the server on {servers[0].address} as {provider}?"
    message = (
        f"{servers[0].explain()} Your messages are sent to it, and the tools it calls run here."
    )
    return await confirm(ui, title, message, yes="Yes, use it", default=False)


class ModelChoice:
    """Models below tabs; Tab selects the next provider."""

    def __init__(
        self, ui: Ui, catalogue: ModelCatalogue, done: Callable[[PickedModel | None], None]
    ) -> None:
        self._theme = ui.theme
        self._catalogue = catalogue
        self._has_prices = any(map(price, catalogue.models))
        self._tabs = catalogue.tabs()
        self._tab = ALL
        self._done = done
        self.picker = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: self._catalogue.under(self._tab, query),
            draw=self._draw,
            rows=lambda: list_rows(ui),
            on_pick=lambda model: done(PickedModel(model=model)),
            on_cancel=lambda: done(None),
            keys={
                "app.models.save": self._pick_as_default,
                "tui.input.tab": lambda model: self._turn(1),
                "app.thinking.cycle": lambda model: self._turn(-1),
            },
            head=self._head,
            group=lambda model: self._catalogue.group(model) if self._tab == ALL else "",
            empty="No model: /login gives access to some, and Tab shows the others",
        )

    def set_catalogue(self, catalogue: ModelCatalogue) -> None:
        """List the known models; the user's selection is kept."""
        self._catalogue, self._tabs = catalogue, catalogue.tabs()
        self._has_prices = any(map(price, catalogue.models))
        if self._tab not in self._tabs:  # the server has ended
            self._tab = ALL
        self.picker.refresh()

    def _pick_as_default(self, model: Model | None) -> None:
        if model is not None:
            self._done(PickedModel(model=model, as_default=True))

    def _turn(self, step: int) -> None:
        self._tab = self._tabs[(self._tabs.index(self._tab) + step) % len(self._tabs)]
        self.picker.refresh()
        self.picker.select(lambda model: True)

    def _head(self, width: int) -> list[str]:
        chosen, others = self._theme.heading, self._theme.paint("muted")
        tabs = tab_row(self._tabs, self._tab, width, chosen=chosen, others=others)
        for legend in (" · ".join(filter(None, (self._catalogue.age, _LEGEND))), _LEGEND):
            if visible_width(tabs) + GAP + visible_width(legend) <= width:
                return [spread(tabs, self._theme.paint("dim")(legend), width)]
        return [tabs]

    def _draw(self, model: Model, width: int, *, selected: bool) -> str:
        name = one_line(full_name(model))  # a server can use any names
        text = self._theme.paint("accent")(name) if selected else name
        badges, cost = self._catalogue.badges(model), ""
        if width < _WITH_PRICES:
            badges = tuple(badge for badge in badges if badge not in _ABILITIES)
        elif self._has_prices:
            cost = price(model).rjust(_PRICE)
        facts = _facts(badges, cost, model, width - visible_width(name) - GAP)
        title = one_line(model.name)
        title_width = width - visible_width(name) - visible_width(facts) - 2 * GAP
        if title not in (model.id, name) and visible_width(title) <= title_width:
            text += f"{' ' * GAP}{self._theme.paint('muted')(title)}"
        return spread(text, self._theme.paint("dim")(facts), width)


def _facts(badges: tuple[str, ...], cost: str, model: Model, max_width: int) -> str:
    """Return the badges that fit beside the name, the price and the size of the window.

    The price is a column of the whole list, so it is not dropped: long names are truncated.
    """
    size = f"{window(model.context_window):>5}"
    while True:
        facts = "  ".join(filter(None, (" · ".join(badges), cost, size)))
        if visible_width(facts) <= max_width or not badges:
            return facts
        badges = badges[:-1]


_LEGEND = "$ per million in/out · window"
_PRICE = 11
"""Columns of a price."""
_WITH_PRICES = 56
"""Columns of a list from which prices and abilities are shown."""
