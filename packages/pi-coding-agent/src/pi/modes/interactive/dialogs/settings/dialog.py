"""Dialog for settings; only changed settings are written."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.errors import PiError
from pi.coding.models.registry import full_name
from pi.coding.settings.guards import RECOMMENDED
from pi.coding.settings.layers import value_at
from pi.coding.settings.parsing import InvalidValue
from pi.coding.settings.setting import Setting
from pi.coding.settings.table import SETTINGS
from pi.modes.interactive.dialogs.panel import LIST_INSET, LOW, Keys, list_rows, make_panel
from pi.modes.interactive.dialogs.questions import CHOOSING, WRITING
from pi.modes.interactive.dialogs.settings.theme import preview_theme, theme_names
from pi.modes.interactive.dialogs.settings.values import (
    Offer,
    Replaceable,
    ValueField,
    ValueList,
    find_choice,
    format_scalar,
    format_value,
)
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.settings_list import Done, SettingItem, SettingsList

_LOOKING = (("tui.select.confirm", "change"), ("tui.select.cancel", "close"))
_DESCRIPTION = 3
"""Rows for the description of a setting."""
_FOR_NOW = "\nYour choice applies until you quit."
_MAX_CYCLED = 3
"""Choices that Enter goes through one by one; more are shown as a list."""
_RESET = Offer(value=None, label="(not set)")
_SEEN = ("Screen", "Terminal")
"""Groups of settings that change what has already been drawn."""


async def edit_settings(ui: Ui) -> None:
    """Show all settings until the user closes the list; changes apply at once."""

    def build(done: Callable[[None], None]) -> Component:
        return _Editing(ui, done).panel

    await ui.show(build)


class _Editing:
    """The open list."""

    def __init__(self, ui: Ui, done: Callable[[None], None]) -> None:
        self._ui = ui
        self._submenu_keys: Keys = WRITING
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
        self.panel = make_panel(ui, "Settings", self._list, self._keys, inset=LIST_INSET)

    def _keys(self) -> Keys:
        return self._submenu_keys if self._list.is_asking else _LOOKING

    def _item(self, setting: Setting) -> SettingItem:
        return SettingItem(
            id=setting.name,
            label=setting.label,
            group=setting.group,
            current_value=self._format_current(setting),
            description=" ".join([setting.description, *setting.notes, f"({setting.name})"]),
            values=tuple(map(format_scalar, setting.choices)),
            submenu=self._submenu(setting) if self._needs_submenu(setting) else None,
        )

    @staticmethod
    def _needs_submenu(setting: Setting) -> bool:
        return not setting.choices or len(setting.choices) > _MAX_CYCLED

    def _submenu(self, setting: Setting) -> Callable[[str, Done], Component]:
        """Return a function that opens a list of known values, or a field for others."""

        def ask(current: str, done: Done) -> Component:
            offers = self._offers(setting)
            if not offers:
                self._submenu_keys = WRITING
                return self._field(setting, done)
            self._submenu_keys = CHOOSING
            is_open = setting.kind != "choice"
            submenu = Replaceable()

            def write() -> None:
                self._submenu_keys = WRITING
                self._end_preview(setting)
                submenu.show(self._field(setting, done))

            submenu.show(
                self._value_list(setting, offers, done, on_other=write if is_open else None)
            )
            return submenu

        return ask

    def _field(self, setting: Setting, done: Done) -> ValueField:
        def store(value: object) -> None:
            self._try(setting, value)
            self._store(setting, value)
            done(None)

        return ValueField(
            self._ui.theme,
            self._ui.keymap,
            setting,
            self._value(setting.name),
            on_value=store,
            on_cancel=lambda: done(None),
        )

    def _value_list(
        self,
        setting: Setting,
        offers: list[Offer],
        done: Done,
        *,
        on_other: Callable[[], None] | None,
    ) -> ValueList:
        def store(value: str | None) -> None:
            if setting.choices:
                self._store(setting, find_choice(setting, value or ""))
            else:
                self._store_all(setting, value)
            done(None)

        def preview(value: str | None) -> None:
            if setting.name == "theme":
                preview_theme(self._ui, value)

        def cancel() -> None:
            self._end_preview(setting)
            done(None)

        current = self._format_current(setting) if setting.choices else self._value(setting.name)
        return ValueList(
            self._ui.theme,
            self._ui.keymap,
            setting,
            offers,
            current,
            rows=lambda: list_rows(self._ui, more=_DESCRIPTION),
            on_value=store,
            on_cancel=cancel,
            on_other=on_other,
            on_move=preview,
        )

    def _end_preview(self, setting: Setting) -> None:
        if setting.name == "theme":
            stored = self._value("theme")
            preview_theme(self._ui, stored if isinstance(stored, str) else None)

    def _offers(self, setting: Setting) -> list[Offer]:
        """Return the known values of a setting; empty if any text is valid."""
        models = self._ui.port.models
        match setting.name:
            case "theme":
                follow = Offer(value=None, label="follow the terminal")
                return [follow, *(Offer(value=name, label=name) for name in theme_names(self._ui))]
            case "defaultProvider":
                names = dict.fromkeys(model.provider for model in models.registry.get_available())
                return [_RESET, *(Offer(value=name, label=name) for name in names)]
            case "defaultModel":
                return [
                    _RESET,
                    *(
                        Offer(
                            value=full_name(model), label=full_name(model), description=model.name
                        )
                        for model in models.registry.get_available()
                    ),
                ]
            case "compaction.strategy":
                strategies = self._ui.port.compaction.strategies()
                return [
                    Offer(value=name, label=name, description=strategies[name])
                    for name in strategies
                ]
            case "tui.statusEngine.provider":
                sources = ("command", "file", "builtin")
                return [_RESET, *(Offer(value=name, label=name) for name in sources)]
            case _:
                return [
                    Offer(value=format_scalar(choice), label=format_scalar(choice))
                    for choice in setting.choices
                ]

    def _store_all(self, setting: Setting, value: str | None) -> None:
        """Store a value; with a default model, also its provider."""
        if setting.name == "defaultModel" and value is not None:
            provider, _, value = value.partition("/")
            self._store(self._rows["defaultProvider"], provider)
        self._try(setting, value)
        self._store(setting, value)

    def _value(self, name: str) -> object:
        return value_at(self._ui.port.settings.raw, name.split("."))

    def _try(self, setting: Setting, value: object) -> None:
        """Checks that a theme exists, so that an unknown name is reported beside the field."""
        if setting.name == "theme":
            try:
                self._ui.themes.use(value if isinstance(value, str) else None)
            except InvalidTheme as error:
                raise InvalidValue(error.explain()) from error

    def _change(self, name: str, label: str) -> None:
        setting = self._rows[name]
        self._store(setting, find_choice(setting, label))

    def _store(self, setting: Setting, value: object) -> None:
        # Loading an extension takes time, and the list must stay usable meanwhile.
        if value != self._value(setting.name):
            self._ui.tasks.start(self._apply(setting, value), name=f"setting {setting.name}")

    async def _apply(self, setting: Setting, value: object) -> None:
        """Store a value; extensions that it switches follow at once, and their state is shown."""
        try:
            outcome = await self._ui.port.extensions.switches.change({setting.name: value})
        except PiError as error:
            holds = self._value(setting.name) == value
            self._ui.notify(f"{error.explain()}{_FOR_NOW if holds else ''}", "error")
        else:
            if outcome:
                self._ui.notify(outcome)
            else:
                self._check(setting.name, value)
            if setting.name == "batteries" and value == RECOMMENDED:
                for line in self._ui.port.extensions.missing_extra_notes():
                    self._ui.notify(f"Left out: {line}", "warning")
        self._list.set_value(setting.name, self._format_current(setting))
        if setting.group in _SEEN:
            self._ui.refresh()
        self._ui.request_render()

    def _check(self, name: str, value: object) -> None:
        """Warn if a project or an option overrides the saved value."""
        if value is not None and value_at(self._ui.port.settings.raw, name.split(".")) != value:
            self._ui.notify(
                f"Saved {name}, but project settings or an option override it.", "warning"
            )

    def _format_current(self, setting: Setting) -> str:
        return format_value(setting, value_at(self._ui.port.settings.raw, setting.name.split(".")))
