"""Dialogs to choose the model and the thinking level."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import field

from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.providers.chosen_servers import ServerStatus
from pi.ai.providers.rows import BUILT_IN as PROVIDERS
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.models.registry import full_name
from pi.coding.port.results import ModelNotes
from pi.modes.interactive.dialogs.panel import (
    GAP,
    LIST_INSET,
    DialogHints,
    list_rows,
    make_panel,
    no_hints,
    spread,
    tab_row,
)
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.text.width import visible_width
from pi.tui.widgets.select_list import SelectItem, SelectList

# Catalogue ----------------------------------------------------------------------------------------


ALL, BUILT_IN, WITHOUT_KEY = "All", "Built in", "Without key"
RECOMMENDED = "Recommended"
USED = "Used"
_RECOMMENDED_PLACE, _LAST_PLACE = 2, 4
_ABILITIES = ("thinks", "sees")


class ModelCatalogue(Record):
    """All models with the facts needed to choose one."""

    models: tuple[Model, ...]
    usable: frozenset[str]
    """Full names of the available models."""
    current: str = ""
    default: str = ""
    scope: tuple[str, ...] = ()
    """Full names of the models in the cycle."""
    built_in: frozenset[str] = frozenset()
    """Full names of the bundled models, if others are available: they have their own tab."""
    recommended: frozenset[str] = frozenset()
    """Full names of the default models of all providers."""
    found: dict[str, str] = field(default_factory=dict)
    """Providers found on this machine and not yet selected, with a note for each."""
    notes: ModelNotes = ModelNotes()
    """Badges and the order of use, from extensions."""

    def tabs(self) -> tuple[str, ...]:
        """The tabs: all available models, each provider, and the unavailable models."""
        listed = self.usable - self.built_in
        providers = dict.fromkeys(m.provider for m in self.models if full_name(m) in listed)
        built_in = (BUILT_IN,) if self.built_in else ()
        others = (WITHOUT_KEY,) if len(self.usable) < len(self.models) else ()
        return (ALL, *providers, *built_in, *others)

    def under(self, tab: str, query: str = "") -> list[Model]:
        """Return the models of a tab that match the query, best first.

        Without a query, the order is: current, most used, default, recommended, others.
        """
        listed = [model for model in self.models if self._belongs(model, tab)]
        if query.strip():
            return rank(query, listed, key=lambda model: f"{full_name(model)} {model.name}")
        used = {name: position for position, name in enumerate(self.notes.used)}
        last = len(used)
        return sorted(listed, key=lambda m: (self._position(m), used.get(full_name(m), last)))

    def group(self, model: Model) -> str:
        """Return the heading above a model; none if no model of the list is recommended."""
        if not self.recommended & self.usable:
            return ""
        position = self._position(model)
        if self.notes.used and position < _RECOMMENDED_PLACE:
            return USED
        return RECOMMENDED if position < _LAST_PLACE else model.provider

    def _position(self, model: Model) -> int:
        name = full_name(model)
        order = (
            name == self.current,
            name in self.notes.used,
            name == self.default,
            name in self.recommended,
        )
        return order.index(True) if True in order else _LAST_PLACE

    def badges(self, model: Model) -> tuple[str, ...]:
        """Return the badges of a model, most important first."""
        name = full_name(model)
        server = self.found.get(model.provider, "")
        marks = (
            (bool(server), server),
            (name == self.current, "current"),
            (name == self.default, "default"),
            *((True, f"@{word}") for word in self.notes.badges.get(name, ())),
            (name in self.scope, "scoped"),
            (name not in self.usable, "no key"),
            (model.reasoning, _ABILITIES[0]),
            (model.sees_images, _ABILITIES[1]),
        )
        return tuple(mark for applies, mark in marks if applies)

    def _belongs(self, model: Model, tab: str) -> bool:
        is_usable = full_name(model) in self.usable
        if tab == WITHOUT_KEY:
            return not is_usable
        if tab == BUILT_IN or full_name(model) in self.built_in:
            return tab == BUILT_IN and full_name(model) in self.built_in
        return is_usable and tab in (ALL, model.provider)


def known_models(
    models: Sequence[Model],
    available: Collection[Model],
    *,
    offered: Collection[Model] = (),
    found: Mapping[str, str] | None = None,
    current: Model | None,
    default: tuple[str | None, str | None] = (None, None),
    scope: Sequence[Model] = (),
    notes: ModelNotes | None = None,
) -> ModelCatalogue:
    """Build the catalogue of a session.

    ``offered`` can be chosen too: models of the servers ``found`` on this machine, with a note for
    each, and bundled models.
    """
    found = dict(found or {})
    available_names = frozenset(map(full_name, available))
    local_names = frozenset(full_name(model) for model in offered if model.provider in found)
    usable = available_names | frozenset(map(full_name, offered))
    return ModelCatalogue(
        models=tuple(models),
        usable=usable,
        built_in=usable - available_names - local_names,
        recommended=frozenset(
            f"{row.id}/{row.default_model}" for row in PROVIDERS if row.default_model
        ),
        found=found,
        current=full_name(current) if current else "",
        default="/".join(part or "" for part in default),
        scope=tuple(map(full_name, scope)),
        notes=notes or ModelNotes(),
    )


def window(tokens: int) -> str:
    """The size of a context window: ``200k``, ``1M``."""
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{tokens // 1000}k"


def price(model: Model) -> str:
    """Dollars for a million tokens in and out: ``$3/$15``; empty if unknown or free."""
    cost = model.cost
    if not cost.input and not cost.output:
        return ""
    return f"${cost.input:g}/${cost.output:g}"


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
        if visible_width(tabs) + GAP + visible_width(_LEGEND) > width:
            return [tabs]
        return [spread(tabs, self._theme.paint("dim")(_LEGEND), width)]

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


# Thinking level -----------------------------------------------------------------------------------


DESCRIPTIONS: dict[ThinkingLevel, str] = {
    "off": "answers at once",
    "minimal": "a moment",
    "low": "a little",
    "medium": "for everyday work",
    "high": "for hard problems",
    "xhigh": "for very hard problems",
    "max": "as long as it takes",
}

_THINKING_KEYS = (
    ("tui.select.confirm", "use"),
    ("app.thinking.save", "use and make default"),
    ("tui.select.cancel", "cancel"),
)


class PickedLevel(Record):
    """A choice, and whether it becomes the default."""

    level: ThinkingLevel
    as_default: bool = False


async def pick_thinking(ui: Ui) -> PickedLevel | None:
    """Return the level that the user chooses among those of the model."""
    levels, now = ui.port.models.levels(), ui.port.models.thinking_level

    def build(done: Callable[[PickedLevel | None], None]) -> Component:
        inside = LevelList(ui, levels, now, done)
        return make_panel(ui, "Thinking level", inside, lambda: _THINKING_KEYS, inset=LIST_INSET)

    return await ui.show(build)


class LevelList:
    """The levels, with the current one selected."""

    def __init__(
        self,
        ui: Ui,
        levels: tuple[ThinkingLevel, ...],
        now: ThinkingLevel,
        done: Callable[[PickedLevel | None], None],
    ) -> None:
        self._keymap = ui.keymap
        self._levels: dict[str, ThinkingLevel] = {level: level for level in levels}
        self._done = done
        self._list = SelectList(
            [SelectItem(value=level, description=DESCRIPTIONS[level]) for level in levels],
            lambda: list_rows(ui),
            ui.theme.select,
            keymap=ui.keymap,
            on_select=lambda item: done(PickedLevel(level=self._levels[item.value])),
            on_cancel=lambda: done(None),
        )
        if now in levels:
            self._list.select(levels.index(now))
        self.invalidate = self._list.invalidate
        """Invalidates the cached rows."""
        self.render = self._list.render
        """The list."""

    def handle_input(self, data: str) -> None:
        """Move, select, or select as default."""
        item = self._list.selected
        if item is not None and self._keymap.matches(data, "app.thinking.save"):
            self._done(PickedLevel(level=self._levels[item.value], as_default=True))
        else:
            self._list.handle_input(data)
