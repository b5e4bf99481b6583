"""The setting that switches an extension: its state, and what to store to change it. Pure.

Used with a session (``runtime.extensions.switching``) and without one (``pi extensions``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pi.base.errors import PiError
from pi.base.fuzzy import nearest
from pi.base.libraries import requirements_of
from pi.base.records import replace
from pi.coding.extension_host.discovery.manifest import (
    ActivationState,
    Manifest,
    is_triggered,
)
from pi.coding.port.extensions import ExtensionInfo, ExtensionRow, RowGroup, RowState
from pi.coding.settings.guards import RECOMMENDED
from pi.coding.settings.layers import value_at
from pi.coding.settings.parsing import InvalidValue, check_value, parse_value
from pi.coding.settings.setting import Setting
from pi.coding.settings.settings import Settings

STRATEGY = "compaction.strategy"


class NeedsValue(PiError):
    """An extension cannot be switched on without a value for its setting."""

    def __init__(self, name: str, setting: Setting) -> None:
        offered = [str(choice) for choice in setting.choices if choice != setting.default]
        what = f"one of {', '.join(offered)}" if offered else f"a value for {setting.name}"
        super().__init__(f"{name} needs {what}: {setting.description}")
        self.setting = setting


def switch_of(manifest: Manifest) -> Setting | None:
    """Return the setting that switches an extension; ``None`` if there is none."""
    if strategies := manifest.triggers("strategy"):
        return replace(_table()[STRATEGY], on=strategies[0])
    names = manifest.triggers("setting")
    return None if not names else _table().get(names[0]) or _plain_switch(names[0])


def settings_of(manifest: Manifest) -> tuple[str, ...]:
    """Return all settings that load an extension."""
    strategy = (STRATEGY,) if manifest.triggers("strategy") else ()
    return (*manifest.triggers("setting"), *strategy)


def is_on(setting: Setting, values: Mapping[str, Any]) -> bool:
    """Whether the value of a setting switches its extension on."""
    value = value_at(values, setting.name.split("."))
    if isinstance(value, dict):
        return value.get("enabled", True) is not False
    if setting.name == STRATEGY:
        return bool(value == setting.on)
    if setting.kind == "choice":
        return value is not None and value != setting.default
    return value not in (None, False, "", [])


def changes_to_switch(
    row: ExtensionRow,
    setting: Setting,
    values: Mapping[str, Any],
    *,
    on: bool,
    keep: bool,
    user_value: object = None,
) -> dict[str, object]:
    """Return what to store to switch an extension; empty if it is as wanted without a value.

    Raises ``PiError`` if that is impossible: ``NeedsValue``, ``InvalidValue``, or libraries lack.
    """
    if not on:
        changes = changes_to_switch_off(setting, values)
        if keep and changes.keys() & {setting.name} and _is_table(setting, values):
            raise PiError(
                f"{setting.name} has definitions of yours, which would be lost.",
                hint=f"Remove them in settings.json, or switch {row.name} off for a session only.",
            )
        return changes
    if row.state == "needs":
        raise PiError(sentence(row), hint=f"Install it: {row.install}")
    if row.state == "ready" and row.asks and user_value is None:
        return {}  # hooks: on until they are switched off
    return changes_to_switch_on(row.name, setting, values, user_value)


def changes_to_switch_on(
    name: str, setting: Setting, values: Mapping[str, Any], user_value: object = None
) -> dict[str, object]:
    """Return what to store to switch the extension ``name`` on; ``user_value`` is the user's value.

    Raises ``NeedsValue`` if the setting has no value that means on, ``InvalidValue`` if the user's
    value is not valid or means off.
    """
    if user_value is not None:
        checked = check_value(setting, user_value)
        if not is_on(setting, _nest(setting.name, checked)):
            raise InvalidValue(f"{setting.name}: {_text(user_value)} switches {name} off.")
        return {setting.name: checked}
    value = value_at(values, setting.name.split("."))
    if isinstance(value, dict) and f"{setting.name}.enabled" in _table():
        return {f"{setting.name}.enabled": True}  # the other settings of the object stay
    if setting.on is not None:
        return {setting.name: setting.on}
    offered = [choice for choice in setting.choices if choice != setting.default]
    if len(offered) == 1:
        return {setting.name: offered[0]}
    if setting.off is not None and value == setting.off:
        return {setting.name: None}
    raise NeedsValue(name, setting)


def changes_to_switch_off(setting: Setting, values: Mapping[str, Any]) -> dict[str, object]:
    """Return what to store to switch an extension off."""
    value = value_at(values, setting.name.split("."))
    if isinstance(value, dict) and f"{setting.name}.enabled" in _table():
        return {f"{setting.name}.enabled": False}
    if setting.name == STRATEGY and value != setting.on:
        return {}  # another strategy is in use
    if setting.kind == "choice":
        return {setting.name: setting.default}
    return {setting.name: setting.off}


def counts_as_on(row: ExtensionRow) -> bool:
    """Whether an extension works now, or as soon as it is used."""
    return row.state in ("on", "session", "ready")


def find_row(rows: Sequence[ExtensionRow], name: str) -> ExtensionRow:
    """Return the extension with this name. Raises ``PiError`` with the most similar name."""
    by_name = {row.name: row for row in rows}
    row = by_name.get(name) or by_name.get(name.replace("_", "-"))
    if row is None:
        similar = nearest(name, [*by_name])
        raise PiError(f"Unknown extension {name}.", hint=f"Did you mean {similar}?" * bool(similar))
    return row


def needs_no_switch(row: ExtensionRow) -> bool:
    """Whether an extension without a setting is ready, e.g. once its libraries are installed."""
    return not row.setting and counts_as_on(row)


def check_switchable(row: ExtensionRow) -> None:
    """Raise ``PiError`` if no setting switches the extension."""
    if not row.setting:
        how = f" It is used with {' or '.join(row.activation)}." if row.activation else ""
        raise PiError(f"No setting switches {row.name} on or off.{how}")


def parse_given(row: ExtensionRow, text: str) -> object:
    """Parse the value that the user gave for the setting of an extension. Raises ``PiError``."""
    check_switchable(row)
    setting = _table().get(row.setting)
    return text if setting is None else parse_value(setting, text)


def row_of(
    info: ExtensionInfo, manifest: Manifest, settings: Settings, state: ActivationState
) -> ExtensionRow:
    """Return the row of an extension, with the state that the settings give it."""
    setting = switch_of(manifest)
    current = _state(info, manifest, setting, settings, state)
    return ExtensionRow(
        name=info.name,
        benefit=info.description,
        group=_group(current, is_recommended=info.is_recommended),
        state=current,
        recommended=info.is_recommended,
        setting=setting.name if setting else "",
        kind=setting.kind if setting else "",
        choices=setting.choices if setting else (),
        value=value_at(settings.raw, setting.name.split(".")) if setting else None,
        asks=_asks(info.name, setting, settings.raw),
        libraries=requirements_of(*manifest.extras) if manifest.extras else (),
        needs=info.needs,
        install=info.install,
        tools=_registered_names(
            info, "tool ", (*manifest.tools, *manifest.model_tools, *manifest.triggers("selected"))
        ),
        commands=_registered_names(info, "/", manifest.declared_commands()),
        flags=_registered_names(info, "--", manifest.flags),
        tokens=manifest.request_tokens,
        activation=info.activation,
        rank=info.rank,
        path=info.path,
        source=info.source,
        milliseconds=info.milliseconds,
        problem=info.problem,
    )


def removed_value(row: ExtensionRow, *, on: bool) -> str:
    """Return a sentence with the value that switching off removes, so that it can be set again."""
    if on or row.kind not in ("text", "list") or row.value in (None, "", []):
        return ""
    return f"{row.setting} was {_text(row.value)}."


def _is_table(setting: Setting, values: Mapping[str, Any]) -> bool:
    """Whether the value of a setting is an object or a list of objects that the user wrote."""
    value = value_at(values, setting.name.split("."))
    return setting.kind == "json" and isinstance(value, (dict, list)) and bool(value)


def outcome(row: ExtensionRow, *, on: bool, keep: str = "", decided_by: str) -> str:
    """Return what is true of an extension after it was switched.

    ``decided_by`` names what can overrule a stored switch.
    """
    if row.state in ("failed", "needs") or counts_as_on(row) == on:
        return sentence(row, keep=keep)
    stored, actual = ("on", "off") if on else ("off", "on")
    return f"{row.name} is stored as {stored}, but stays {actual}: {decided_by} decide otherwise."


def sentence(row: ExtensionRow, *, keep: str = "") -> str:
    """Return what is true of an extension now; ``keep`` is how a switch for a session is kept."""
    match row.state:
        case "on":
            value = "" if row.value is None else f" ({row.setting}: {_text(row.value)})"
            return f"{row.name} is on{value}."
        case "ready":
            return f"{row.name} is on: it loads when it is used."
        case "session":
            return f"{row.name} is on for this session.{keep and f' Keep it: {keep}'}"
        case "failed":
            return f"{row.name} could not be loaded: {row.problem}"
        case "needs":
            return f"{row.name} is off: it needs {', '.join(row.needs)}."
        case _:
            return f"{row.name} is off."


def _state(
    info: ExtensionInfo,
    manifest: Manifest,
    setting: Setting | None,
    settings: Settings,
    state: ActivationState,
) -> RowState:
    if info.state == "failed":
        return "failed"
    if info.needs:
        return "needs"
    if setting is None:
        is_loaded = info.state == "loaded" or is_triggered(manifest, state)
        return "on" if is_loaded else "ready"
    if is_on(setting, settings.raw):
        return "session" if _is_for_this_run(setting, settings, info) else "on"
    return _state_while_off(info, manifest, setting, settings, state)


def _state_while_off(
    info: ExtensionInfo,
    manifest: Manifest,
    setting: Setting,
    settings: Settings,
    state: ActivationState,
) -> RowState:
    """The state of an extension whose setting is off: a file or an option may load it as well."""
    value = value_at(settings.raw, setting.name.split("."))
    if setting.off is not None and value == setting.off:
        return "off"
    if info.rank == "bundled" and _is_idle(manifest, state):
        # Hooks: their files load them until they are switched off.
        return "ready" if setting.off is not None and manifest.triggers("file") else "off"
    return "on" if info.state == "loaded" or is_triggered(manifest, state) else "off"


def _is_idle(manifest: Manifest, state: ActivationState) -> bool:
    """Whether nothing but the settings, which are off, could have loaded a battery.

    What is used for now does not switch it on: its commands, and what they share with others.
    """
    others = tuple(
        trigger
        for trigger in manifest.activate
        if trigger.partition(":")[0] not in ("setting", "command", "shared")
    )
    return not is_triggered(replace(manifest, activate=others), state)


def _is_for_this_run(setting: Setting, settings: Settings, info: ExtensionInfo) -> bool:
    """Whether an extension is on because of an option or a choice for this run only."""
    path = setting.name.split(".")
    overrides = settings.overrides
    if value_at(overrides, path) is None and overrides.get("batteries") != RECOMMENDED:
        return False
    stored = [settings.layer(scope, path) for scope in ("user", "project")]
    if any(value is not None and is_on(setting, _nest(setting.name, value)) for value in stored):
        return False
    is_recommended = settings.layer("user", ("batteries",)) == RECOMMENDED and info.is_recommended
    return not (is_recommended and all(value is None for value in stored))


def _group(state: RowState, *, is_recommended: bool) -> RowGroup:
    if state in ("on", "session", "ready"):
        return "on"
    if state == "needs":
        return "needs"
    return "recommended" if is_recommended else "more"


def _asks(name: str, setting: Setting | None, values: Mapping[str, Any]) -> bool:
    if setting is None:
        return False
    try:
        changes_to_switch_on(name, setting, values)
    except NeedsValue:
        return True
    return False


def _registered_names(info: ExtensionInfo, prefix: str, declared: Any) -> tuple[str, ...]:
    """Names that the manifest declares, and those that the code has registered."""
    added = (text.removeprefix(prefix) for text in info.adds if text.startswith(prefix))
    registered = (name for name in added if " " not in name)
    return tuple(dict.fromkeys([*declared, *registered]))


def _nest(name: str, value: object) -> dict[str, Any]:
    *above, last = name.split(".")
    values: dict[str, Any] = {last: value}
    for part in reversed(above):
        values = {part: values}
    return values


def _text(value: object) -> str:
    import json  # deferred: for sentences only

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain_switch(name: str) -> Setting:
    """The setting of a stranger's extension, which no table describes: on or off."""
    return Setting(
        name=name, label=name, description="", kind="choice", default=False, choices=(True, False)
    )


@cache
def _table() -> dict[str, Setting]:
    from pi.coding.settings.table import SETTINGS  # deferred: large, for lists and switching only

    return {setting.name: setting for setting in SETTINGS}
