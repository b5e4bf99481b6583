"""Dialogs for settings and themes; only changed settings are written."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.settings.settings import value_at
from pi.coding.settings.table import SETTINGS, Setting
from pi.modes.interactive.dialogs.panel import LOW, Keys, framed, list_rows
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING, WRITING
from pi.modes.interactive.dialogs.settings.values import (
    InvalidValue,
    ValueField,
    chosen,
    shown,
    worded,
)
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.settings_list import Done, SettingItem, SettingsList

_LOOKING = (("tui.select.confirm", "change"), ("tui.select.cancel", "close"))
_DESCRIPTION = 3
"""Rows for the description of a setting."""
_FOR_NOW = "\nYour choice applies until you quit."
_SEEN = ("Screen", "Terminal")
"""Groups of settings that change what has already been drawn."""


async def edit_settings(ui: Ui) -> None:
    """Shows all settings until the user closes the list; changes apply at once."""

    def build(done: Callable[[None], None]) -> Component:
        return _Editing(ui, done).panel

    await ui.show(build)


class _Editing:
    """The open list."""

    def __init__(self, ui: Ui, done: Callable[[None], None]) -> None:
        self._ui = ui
        self._rows = {setting.name: setting for setting in SETTINGS}
        self._list = SettingsList(
            [self._item(setting) for setting in SETTINGS],
            lambda: list_rows(ui, more=_DESCRIPTION),
            ui.theme.settings,
            on_change=self._change,
            on_cancel=lambda: done(None),
            keymap=ui.keymap,
            is_searchable=True,
            hint="",
            describes=lambda: ui.rows >= LOW,  # on a low screen the list needs the rows
        )
        self.panel = framed(ui, "Settings", self._list, self._keys)

    def _keys(self) -> Keys:
        return WRITING if self._list.is_asking else _LOOKING

    def _item(self, setting: Setting) -> SettingItem:
        return SettingItem(
            id=setting.name,
            label=f"{setting.group}: {setting.label}",
            current_value=self._shown(setting),
            description=" ".join([setting.description, *setting.notes, f"({setting.name})"]),
            values=tuple(map(worded, setting.choices)),
            submenu=None if setting.choices else self._submenu(setting),
        )

    def _submenu(self, setting: Setting) -> Callable[[str, Done], Component]:
        def ask(current: str, done: Done) -> Component:
            def keep(value: object) -> None:
                self._try(setting, value)
                self._store(setting, value)
                done(None)

            value = value_at(self._ui.port.settings.raw, setting.name.split("."))
            return ValueField(
                self._ui.theme,
                self._ui.keymap,
                setting,
                value,
                on_value=keep,
                on_cancel=lambda: done(None),
            )

        return ask

    def _try(self, setting: Setting, value: object) -> None:
        """Checks that a theme exists, so that an unknown name is reported beside the field."""
        if setting.name == "theme":
            try:
                self._ui.themes.use(value if isinstance(value, str) else None)
            except InvalidTheme as error:
                raise InvalidValue(error.explain()) from error

    def _change(self, name: str, words: str) -> None:
        setting = self._rows[name]
        self._store(setting, chosen(setting, words))

    def _store(self, setting: Setting, value: object) -> None:
        settings = self._ui.port.settings
        if value == value_at(settings.raw, setting.name.split(".")):
            return
        try:
            settings.set({setting.name: value})
        except PiError as error:
            holds = value_at(settings.raw, setting.name.split(".")) == value
            text = f"{error.explain()}{_FOR_NOW if holds else ''}"
            self._ui.notify(text, "error")
        else:
            self._check(setting.name, value)
        self._list.set_value(setting.name, self._shown(setting))
        if setting.group in _SEEN:
            self._ui.refresh()

    def _check(self, name: str, value: object) -> None:
        """Warns if a project or an option overrides the saved value."""
        if value is not None and value_at(self._ui.port.settings.raw, name.split(".")) != value:
            self._ui.notify(
                f"Saved {name}, but project settings or an option override it.", "warning"
            )

    def _shown(self, setting: Setting) -> str:
        return shown(setting, value_at(self._ui.port.settings.raw, setting.name.split(".")))


# Choosing a theme with preview.


class PickedTheme(Record):
    """The new value of the setting; no name follows the terminal."""

    name: str | None


FOLLOW = PickedTheme(name=None)


async def pick_theme(ui: Ui) -> PickedTheme | None:
    """Returns the theme that the user chooses; on cancel the old one is restored."""
    before = ui.port.settings.values.theme
    offered = [FOLLOW, *(PickedTheme(name=name) for name in ui.themes.names)]

    def draw(theme: PickedTheme, width: int, *, selected: bool) -> str:
        text = one_line(_called(theme)) + ("  (now)" if theme.name == before else "")
        return ui.theme.paint("accent")(text) if selected else text

    def build(done: Callable[[PickedTheme | None], None]) -> Component:
        inside = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, offered, key=_called),
            draw=draw,
            rows=lambda: list_rows(ui),
            on_pick=done,
            on_cancel=lambda: done(None),
            on_move=lambda theme: _preview(ui, theme.name),
        )
        inside.select(lambda theme: theme.name == before)
        return framed(ui, "Theme", inside, lambda: CHOOSING)

    picked: PickedTheme | None = None
    try:
        picked = await ui.show(build)
        return picked
    finally:
        if picked is None:
            _preview(ui, before)


def _called(theme: PickedTheme) -> str:
    return theme.name or "follow the terminal"


def _preview(ui: Ui, name: str | None) -> None:
    try:
        ui.themes.use(name)
    except PiError as error:
        ui.notify(error.explain(), "error")
