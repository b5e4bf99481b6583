"""The path that is being typed before the cursor."""

from __future__ import annotations

import re

from pi.base.records import Record

_MENTION = re.compile(r"(?<![A-Za-z0-9._+-])@(?P<quote>\")?(?P<path>(?(quote)[^\"]*|[^\s\"]*))\Z")
"""An ``@`` that is no part of an address, and what follows; blanks only inside quotes."""

_QUOTED = re.compile(r"(?:^|(?<=[\s=(]))\"(?P<path>[^\"]*)\Z")
_BARE = re.compile(r"[^\s\"'=()<>|;&]*\Z")


class Token(Record):
    """A path as it is typed."""

    raw: str
    """All that stands for it, to be replaced."""
    path: str
    mention: bool = False
    """Whether it follows an ``@``."""
    quoted: bool = False


def mention_before(text: str) -> Token | None:
    """The ``@path`` that ends at the cursor, if there is one."""
    found = _MENTION.search(text)
    if found is None:
        return None
    return Token(raw=found[0], path=found["path"], mention=True, quoted=bool(found["quote"]))


def path_before(text: str) -> Token:
    """The word or quoted path that ends at the cursor, perhaps empty."""
    if quoted := _QUOTED.search(text):
        return Token(raw=quoted[0], path=quoted["path"], quoted=True)
    bare = _BARE.search(text)
    raw = bare[0] if bare else ""
    return Token(raw=raw, path=raw)


def written(path: str, token: Token) -> str:
    """How a path is written in place of a token: with its ``@``, and in quotes if need be.

    The path of a directory, which may be typed on, keeps its quotes open.
    """
    at = "@" if token.mention else ""
    if not token.quoted and not re.search(r"[\s\"'=()<>|;&]", path):
        return at + path
    return f'{at}"{path}' if path.endswith("/") else f'{at}"{path}"'
