"""Choosing the model that answers."""

from __future__ import annotations

from collections.abc import Callable

from pi.ai.models.model import Model
from pi.ai.providers.chosen_servers import Standing
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.models.patterns import full_name
from pi.modes.interactive.dialogs.columns import GAP, spread, tab_row
from pi.modes.interactive.dialogs.models.discovering import discover
from pi.modes.interactive.dialogs.models.listing import ALL, Known, known_models, window
from pi.modes.interactive.dialogs.panel import framed, list_rows
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.text.width import visible_width

_KEYS = (
    ("tui.select.confirm", "use"),
    ("app.models.save", "use and make default"),
    ("tui.input.tab", "provider"),
    ("tui.select.cancel", "cancel"),
)


class PickedModel(Record):
    """A choice, and whether it is to be the default from now on."""

    model: Model
    keep: bool = False


async def pick_model(ui: Ui) -> PickedModel | None:
    """The model that the person chooses."""

    def build(done: Callable[[PickedModel | None], None]) -> Component:
        choice = ModelChoice(ui, models_of(ui), done)
        discover(ui, then=lambda: choice.know(models_of(ui)))
        return framed(ui, "Model", choice.picker, lambda: _KEYS)

    return await ui.show(build)


def models_of(ui: Ui) -> Known:
    """What the session knows of its models."""
    models, values = ui.port.models, ui.port.settings.values
    return known_models(
        models.known(),
        models.available(),
        offered=models.offered(),
        found={each.provider: _in_short(each) for each in models.found()},
        current=models.current,
        default=(values.default_provider, values.default_model),
        scope=[choice.model for choice in models.scope],
    )


def _in_short(standing: Standing) -> str:
    what = "owner changed" if standing.state == "other owner" else "not chosen yet, owner"
    return f"{what}: {standing.owner}"


async def may_ask_server(ui: Ui, provider: str) -> bool:
    """Whether a server on this machine may answer; who owns it is shown, and the user decides."""
    found = [each for each in ui.port.models.found() if each.provider == provider]
    if not found:
        return True
    title = f"Let the server on {found[0].address} answer as {provider}?"
    message = f"{found[0].explain()} What you write goes there, and the tools it calls run here."
    return await confirm(ui, title, message, yes="Yes, let it answer")


class ModelChoice:
    """Models below tabs; Tab goes on to the next provider."""

    def __init__(self, ui: Ui, known: Known, done: Callable[[PickedModel | None], None]) -> None:
        self._theme = ui.theme
        self._known = known
        self._tabs = known.tabs()
        self._tab = ALL
        self._done = done
        self.picker = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: self._known.under(self._tab, query),
            draw=self._draw,
            rows=lambda: list_rows(ui),
            on_pick=lambda model: done(PickedModel(model=model)),
            on_cancel=lambda: done(None),
            keys={
                "app.models.save": self._keep,
                "tui.input.tab": lambda model: self._turn(1),
                "app.thinking.cycle": lambda model: self._turn(-1),
            },
            head=self._head,
            empty="No model: /login gives access to some, and Tab shows the others",
        )

    def know(self, known: Known) -> None:
        """List what is known now; the model that the person has moved to stays selected."""
        self._known, self._tabs = known, known.tabs()
        if self._tab not in self._tabs:  # the server of its models has ended
            self._tab = ALL
        self.picker.refresh()

    def _keep(self, model: Model | None) -> None:
        if model is not None:
            self._done(PickedModel(model=model, keep=True))

    def _turn(self, step: int) -> None:
        self._tab = self._tabs[(self._tabs.index(self._tab) + step) % len(self._tabs)]
        self.picker.refresh()
        self.picker.select(lambda model: True)

    def _head(self, width: int) -> list[str]:
        chosen, others = self._theme.paint("accent", bold=True), self._theme.paint("muted")
        return [tab_row(self._tabs, self._tab, width, chosen=chosen, others=others)]

    def _draw(self, model: Model, width: int, *, selected: bool) -> str:
        name = one_line(full_name(model))  # a server may call its models anything
        text = self._theme.paint("accent")(name) if selected else name
        facts = _facts(self._known, model, width - visible_width(name) - GAP)
        return spread(text, self._theme.paint("dim")(facts), width)


def _facts(known: Known, model: Model, room: int) -> str:
    """The badges that there is room for beside the name, and the size of the window."""
    size, badges = f"{window(model.context_window):>5}", known.badges(model)
    while True:
        facts = f"{' · '.join(badges)}  {size}" if badges else size
        if not badges or visible_width(facts) <= room:
            return facts
        badges = badges[:-1]
