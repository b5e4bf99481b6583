"""One setting as a row of the table: the record, and a constructor for each kind of value."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.base.records import Record, replace
from pi.coding.settings.values import GLOBAL_ONLY

Kind: TypeAlias = Literal["choice", "number", "text", "list", "json"]
"""``list`` is a JSON array of strings, ``json`` any other array or object."""

Applies: TypeAlias = Literal["at once", "reload", "start"]
"""When a change takes effect: at once, after ``/reload`` and in new sessions, at the next start."""

Value: TypeAlias = str | int | bool | None

USER_ONLY = frozenset({"compaction.remoteEndpoint"})
"""Single settings that a project cannot change: it would choose where conversations are sent."""
FOR_THE_FIRST_FRAME = frozenset(
    {
        "tuiMode",
        "fullscreenExitOutput",
        "fullscreenScrollbar",
        "showHardwareCursor",
        "terminal.hyperlinks",
        "terminal.trueColor",
        "terminal.images",
        "tui.screenReader",
    }
)
"""Settings needed before anything of a project may be read, so only the user's file counts."""


class Setting(Record):
    """One setting."""

    name: str
    """Its path in ``settings.json``, with dots."""
    label: str
    description: str
    kind: Kind
    group: str = ""
    default: Value | tuple[str, ...] = None
    choices: tuple[Value, ...] = ()
    least: int = 0
    most: int | None = None
    words: tuple[str, ...] = ()
    """Words that a number may have in its place."""
    needs: tuple[str, ...] = ()
    """Settings that must be on for this one to have an effect."""
    applies: Applies = "at once"
    on: object = None
    """What it gets when its extension is switched on, if that is not clear from its choices."""
    off: object = None
    """What it gets when its extension is switched off; ``None`` removes it."""
    loads_extensions: bool = False
    """Whether a change loads or unloads extensions, so that it takes effect at once."""

    @property
    def is_global(self) -> bool:
        """Whether only the user's file counts, not that of a project."""
        names = FOR_THE_FIRST_FRAME | USER_ONLY
        return self.name.partition(".")[0] in GLOBAL_ONLY or self.name in names

    @property
    def notes(self) -> tuple[str, ...]:
        """Conditions, as sentences."""
        sentences = []
        if self.needs:
            sentences.append(f"Has no effect without {' and '.join(self.needs)}.")
        if self.applies != "at once":
            when = {"reload": "with /reload", "start": "at the next start"}[self.applies]
            sentences.append(f"Takes effect {when}.")
        return tuple(sentences)


# Row constructors ---------------------------------------------------------------------------------


def group(name: str, *settings: Setting) -> tuple[Setting, ...]:
    """Settings of the group ``name``."""
    return tuple(replace(setting, group=name) for setting in settings)


def needing(names: tuple[str, ...], *settings: Setting) -> tuple[Setting, ...]:
    """Settings without effect unless ``names`` are on."""
    return tuple(replace(setting, needs=names) for setting in settings)


def applied(when: Applies, *settings: Setting) -> tuple[Setting, ...]:
    """Settings whose changes do not take effect at once, except those that load extensions."""
    return tuple(
        setting if setting.loads_extensions else replace(setting, applies=when)
        for setting in settings
    )


def loading(setting: Setting) -> Setting:
    """A setting that loads and unloads extensions."""
    return replace(setting, loads_extensions=True)


def switch(name: str, label: str, description: str, *, on: bool) -> Setting:
    """A setting that is on or off."""
    setting = _of("choice", name, label, description)
    return replace(setting, default=on, choices=(True, False))


def choice(name: str, label: str, description: str, choices: tuple[Value, ...]) -> Setting:
    """One of several values; the first is the default."""
    setting = _of("choice", name, label, description)
    return replace(setting, default=choices[0], choices=choices)


def named(setting: Setting, *names: str) -> Setting:
    """A string, or a list of strings, of which only these ``names`` are known."""
    return replace(setting, choices=names)


def switching(setting: Setting, *, on: object = None, off: object = None) -> Setting:
    """A setting that also switches its extension, with these values."""
    return replace(setting, on=on, off=off)


def number(
    name: str,
    label: str,
    description: str,
    default: int | None,
    *,
    least: int = 0,
    most: int | None = None,
    words: tuple[str, ...] = (),
) -> Setting:
    """A whole number, or one of ``words``."""
    setting = _of("number", name, label, description)
    return replace(setting, default=default, least=least, most=most, words=words)


def text(name: str, label: str, description: str, default: str | None = None) -> Setting:
    """A string."""
    return replace(_of("text", name, label, description), default=default)


def words(name: str, label: str, description: str, *default: str) -> Setting:
    """A list of strings."""
    return replace(_of("list", name, label, description), default=default or None)


def json(name: str, label: str, description: str) -> Setting:
    """Any other array or object."""
    return _of("json", name, label, description)


def _of(kind: Kind, name: str, label: str, description: str) -> Setting:
    return Setting(name=name, label=label, description=description, kind=kind)
