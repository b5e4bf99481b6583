"""Settings of guards: an invalid value means the strictest choice, and it is reported. Pure.

Other settings with an invalid value keep their default. For a guard the default is "off", so that
one wrong character would switch off what the user relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from pi.ai.messages import Json
from pi.base.records import Record

Choice: TypeAlias = str | bool


class GuardSetting(Record):
    """One setting of a guard."""

    name: str
    default: Choice | tuple[str, ...]
    choices: tuple[Choice, ...] = ()
    """The valid values, the strictest one last; empty for a list of strings."""
    grows: bool = False
    """Of a list: whether more entries are stricter, as those of deny rules."""

    @property
    def path(self) -> list[str]:
        """Its path in the file."""
        return self.name.split(".")

    @property
    def strictest(self) -> Choice | tuple[str, ...]:
        """The value that allows least."""
        if self.choices:
            return self.choices[-1]
        return ("*",) if self.grows else ()

    @property
    def expected(self) -> str:
        """The valid values, for an error message."""
        if not self.choices:
            return "a list of strings"
        return " or ".join(_as_json(choice) for choice in sorted(self.choices, key=str))

    def accepts(self, value: object) -> bool:
        """Whether the value is valid. ``True`` and 1 are different, although they are equal."""
        if self.choices:
            return any(type(value) is type(choice) and value == choice for choice in self.choices)
        return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)

    def stricter(self, first: object, second: object) -> object:
        """Return a value that allows only what both allow; ``None`` is the default."""
        one = self.default if first is None else first
        other = self.default if second is None else second
        if self.choices:
            return max(one, other, key=self.choices.index)
        assert isinstance(one, Sequence)
        assert isinstance(other, Sequence)
        if self.grows:
            return list(dict.fromkeys((*one, *other)))
        if self.default == (_EVERYTHING,) and _EVERYTHING in (*one, *other):
            return list(other if _EVERYTHING in one else one)
        return [text for text in one if text in other]


def _switch(name: str, *, strictest: bool, default: bool) -> GuardSetting:
    return GuardSetting(name=name, default=default, choices=(not strictest, strictest))


BATTERIES = "batteries"
RECOMMENDED = "recommended"
"""The value of ``batteries`` that switches the recommended batteries on."""
_EVERYTHING = "*"
"""The entry of a list whose default allows everything that another setting allows."""
_OUTSIDE = ("user", "extension", "mcp", "lsp", "browser", "matcher", "ssh")

GUARDS: tuple[GuardSetting, ...] = (
    GuardSetting(
        name="permissions.mode",
        default="off",
        choices=("off", "auto-edit", "ask", "ask-all", "read-only"),
    ),
    GuardSetting(name="permissions.allow", default=()),
    GuardSetting(name="permissions.ask", default=(), grows=True),
    GuardSetting(name="permissions.deny", default=(), grows=True),
    GuardSetting(
        name="files.sensitive", default="auto", choices=("allow", "auto", "ask", "refuse")
    ),
    _switch("sandbox.enabled", strictest=True, default=False),
    _switch("sandbox.network", strictest=False, default=False),
    GuardSetting(name="sandbox.allowHosts", default=("*",)),
    GuardSetting(name="sandbox.readable", default=()),
    GuardSetting(name="sandbox.writable", default=()),
    GuardSetting(name="sandbox.exclude", default=_OUTSIDE),
    _switch("secrets.enabled", strictest=True, default=False),
    _switch("secrets.shapes", strictest=True, default=True),
    GuardSetting(name="secrets.restoreInto", default=()),
    GuardSetting(name="defaultProjectTrust", default="ask", choices=("always", "ask", "never")),
    # Many users have secrets and rewind only because of this one.
    GuardSetting(name=BATTERIES, default="none", choices=("none", RECOMMENDED)),
)
"""All settings of guards; a test compares them with the table of settings and the batteries."""

SECTIONS = tuple(dict.fromkeys(row.path[0] for row in GUARDS if len(row.path) > 1))
"""Objects that contain settings of guards."""

_TOP = frozenset(row.path[0] for row in GUARDS)
_BEGINNINGS = ("perm", "sand", "secr", "file", "defaultp", "batt")
"""Of names that are checked for errors: others are settings of something else."""

RESTRICTING = ("permissions.ask", "permissions.deny")
"""Lists of the user's guards to which a trusted project may add."""


def checked_guards(raw: Json, source: str, warn: Callable[[str], None]) -> Json:
    """Return a layer with valid settings of guards; every correction is reported.

    ``null`` is invalid, too: it is what remains of a YAML file that was cut after a name. A name
    that is misspelt, but certainly means a guard, is an invalid value of that guard.
    """
    misspelt = _misspelt(raw, source, warn)
    if not misspelt and raw.keys().isdisjoint(_TOP):
        return raw
    checked = dict(raw)
    for section in SECTIONS:
        if section in raw and not isinstance(raw[section], dict):
            strictest = _strictest(section)
            warn(_invalid(section, source, "an object", raw[section], strictest))
            checked[section] = strictest
        elif section in raw:
            misspelt += _misspelt_in(raw[section], section, source, warn)
            checked[section] = dict(raw[section])
    for row in GUARDS:
        *above, name = row.path
        owner = checked.get(above[0]) if above else checked
        if owner is not None and name in owner and not row.accepts(owner[name]):
            strictest_value = _plain(row.strictest)
            warn(_invalid(row.name, source, row.expected, owner[name], strictest_value))
            owner[name] = strictest_value
    for row in misspelt:
        *above, name = row.path
        owner = checked.setdefault(above[0], {}) if above else checked
        owner[name] = _plain(row.strictest)
    return checked


def tightened(values: Json, limits: Json, *, defaults: bool = False) -> Json:
    """Return ``values`` with settings of guards that are at least as strict as in ``limits``.

    With ``defaults``, what ``limits`` does not contain limits by its default.
    """
    result = dict(values)
    for row in GUARDS:
        *above, name = row.path
        limit, value = _value(limits, row), _value(values, row)
        if limit is None and (value is None or not defaults):
            continue
        value = _plain(row.stricter(value, limit))
        if above:
            result[above[0]] = {**(result.get(above[0]) or {}), name: value}
        else:
            result[name] = value
    return _without_hosts(result, limits, defaults=defaults)


def _without_hosts(values: Json, limits: Json, *, defaults: bool) -> Json:
    """Return the values without hosts of the sandbox where the limits allow no network at all.

    ``sandbox.allowHosts`` opens the network to its hosts although ``sandbox.network`` is off.
    """
    sandbox, limit = values.get("sandbox"), limits.get("sandbox")
    limit = limit if isinstance(limit, dict) else {}
    if not isinstance(sandbox, dict) or _EVERYTHING not in limit.get("allowHosts", _EVERYTHING):
        return values
    is_open = limit.get("network", False if defaults else None) is not False
    if is_open or _EVERYTHING in sandbox.get("allowHosts", _EVERYTHING):
        return values
    return {**values, "sandbox": {**sandbox, "allowHosts": []}}


def strictest_guards() -> Json:
    """Return the values for a session whose settings cannot be read.

    Deny rules would refuse everything, so that every call asks instead; ``read-only`` refuses all
    changes anyway. The guards of the recommended batteries are listed themselves.
    """
    values: Json = {}
    for row in GUARDS:
        if row.name not in ("permissions.deny", BATTERIES):
            *above, name = row.path
            (values.setdefault(above[0], {}) if above else values)[name] = _plain(row.strictest)
    return values


def restrictions(project: Json) -> Json:
    """Return the settings of guards by which a trusted project restricts itself further."""
    rows = (row for row in GUARDS if row.name in RESTRICTING)
    lists = {row.path[1]: _value(project, row) for row in rows}
    permissions = {name: texts for name, texts in lists.items() if texts}
    return {"permissions": permissions} if permissions else {}


def _value(values: Json, row: GuardSetting) -> object:
    owner: object = values
    for name in row.path:
        owner = owner.get(name) if isinstance(owner, dict) else None
    return owner


def _strictest(section: str) -> Json:
    """Return the strictest choices of a section; its lists keep their default."""
    rows = [row for row in GUARDS if row.path[0] == section and row.choices]
    return {row.path[1]: row.strictest for row in rows}


def _misspelt(raw: Json, source: str, warn: Callable[[str], None]) -> list[GuardSetting]:
    """Report misspelt names at the top of a file; return the settings that they mean."""
    rows: list[GuardSetting] = []
    for name in raw:
        if name in _TOP or (name.isascii() and not name.casefold().startswith(_BEGINNINGS)):
            continue
        from pi.coding.settings.misspelt import misspelt_section  # lazy: for errors only

        if (misspelling := misspelt_section(name, (row.name for row in GUARDS))) is None:
            continue
        setting = misspelling.setting
        section = setting.partition(".")[0]
        applied: list[GuardSetting] = []
        if misspelling.is_certain or isinstance(raw[name], bool):
            below = [row for row in GUARDS if row.path[0] == setting and row.choices]
            applied = [row for row in GUARDS if row.name == setting] or below
        else:
            applied = _probable(name, raw[name], setting)
        hint = f'"{section}": {{…}} with its settings inside' if section in SECTIONS else section
        warn(_unknown(name, source, f"Write {hint}.", applied))
        rows += applied
    return rows


def _probable(name: str, value: object, setting: str) -> list[GuardSetting]:
    """Return the settings of guards that a name like that of a guard means, by its value."""
    from pi.coding.settings.misspelt import misspelt_setting  # lazy: for errors only

    names = {row.path[1]: row for row in GUARDS if row.path[0] == setting and len(row.path) > 1}
    if isinstance(value, dict):
        meant = (misspelt_setting(key, names) for key in value)
        return [names[key] for key in dict.fromkeys(meant) if key is not None]
    if named := misspelt_setting(name.rpartition(".")[2], names) if "." in name else None:
        return [names[named]]
    return [row for row in GUARDS if row.name == setting and row.accepts(value)]


_SYNONYMS = dict.fromkeys(
    ("disallow", "disallowed", "disallowedtools", "block", "blocked", "forbid", "forbidden"), "deny"
)
"""Names that other programs use; ``disallow`` looks like ``allow``."""


def _misspelt_in(
    values: Json, section: str, source: str, warn: Callable[[str], None]
) -> list[GuardSetting]:
    """Report unknown names in a section; return the settings that they mean."""
    names = {row.path[1]: row for row in GUARDS if row.path[0] == section}
    rows: list[GuardSetting] = []
    for name in values:
        if name in names:
            continue
        from pi.coding.settings.misspelt import misspelt_setting  # lazy: for errors only

        synonym = _SYNONYMS.get(name.casefold(), "")
        suggestion = synonym if synonym in names else misspelt_setting(name, names)
        hint = f"Did you mean {suggestion}?" if suggestion else f"Known: {', '.join(names)}."
        applied = [names[suggestion]] if suggestion else []
        warn(_unknown(f"{section}.{name}", source, hint, applied))
        rows += applied
    return rows


def _unknown(name: str, source: str, hint: str, applied: Sequence[GuardSetting]) -> str:
    if not applied:
        return f'Unknown setting "{name}" in {source} has no effect. {hint}'
    strictest = ", ".join(f"{row.name} {_as_json(row.strictest)}" for row in applied)
    return (
        f'Unknown setting "{name}" in {source}. {hint}'
        f" The strictest choice applies until you correct it: {strictest}"
    )


def _invalid(name: str, source: str, expected: str, value: object, strictest: object) -> str:
    return (
        f'Invalid setting "{name}" in {source}: expected {expected}, got {_as_json(value)[:60]}.'
        f" The strictest choice applies until you correct it: {_as_json(strictest)}"
    )


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
