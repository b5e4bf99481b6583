"""Recognises misspelt names of guards, such as ``Permissions`` and ``secrets.enable``. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from pi.base.records import Record

_TOO_COMMON = "files"
"""Extensions of the original may have settings with a similar name."""
_NO_LETTER = re.compile(r"[^a-z]+")


class Misspelling(Record):
    """What a name at the top of a settings file probably means."""

    setting: str
    """The setting or the section."""
    is_certain: bool
    """Whether it can mean nothing else, such as another case or a space behind it."""


def misspelt_section(name: str, settings: Iterable[str]) -> Misspelling | None:
    """Return what an unknown name at the top of a file means; ``None`` if it is no guard's.

    ``settings`` are the names of all settings of guards.
    """
    settings = tuple(settings)
    sections = {setting.partition(".")[0] for setting in settings}
    by_letters = {_plain(name): name for name in (*settings, *sections)}
    plain = _plain(name)
    if setting := by_letters.get(plain):
        return Misspelling(setting=setting, is_certain=True)
    from pi.base.fuzzy import nearest  # lazy: for errors only

    distinct = {_plain(section): section for section in sections - {_TOO_COMMON}}
    full = {_plain(name): name for name in settings if _plain(name.partition(".")[0]) in distinct}
    longer = (folded for folded in distinct if plain.startswith(folded))
    match = nearest(plain, full) or next(longer, None) or nearest(plain, distinct)
    if match is None:
        return None
    return Misspelling(setting=full.get(match) or distinct[match], is_certain=False)


def misspelt_setting(name: str, names: Iterable[str]) -> str | None:
    """Return the setting of a section that an unknown name in it means.

    ``defaultMode``, the name in Claude Code, means ``mode``.
    """
    from pi.base.fuzzy import nearest  # lazy: for errors only

    names = tuple(names)
    plain = _plain(name)
    by_letters = {_plain(candidate): candidate for candidate in names}
    if plain in by_letters:
        return by_letters[plain]
    ends = (candidate for candidate in names if plain.endswith(_plain(candidate)))
    forms = (name for name in names if _verb(plain) == _verb(_plain(name)))
    return nearest(plain, names) or next(ends, None) or next(forms, None)


def _verb(word: str) -> str:
    """Return a verb without its ending: ``denied``, ``denies`` and ``deny`` are the same."""
    return re.sub(r"(?:ied|ies|ying|y|ed|s|ing)\Z", "", word)


def _plain(name: str) -> str:
    """Return the letters of a name, folded, without invisible and other characters."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    return _NO_LETTER.sub("", name.casefold())
