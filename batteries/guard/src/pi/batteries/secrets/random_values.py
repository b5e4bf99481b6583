"""Recognises long random values: hexadecimal digits and base64. Pure.

A coding agent reads hashes of commits and checksums of lock files all day, and needs them. So a
random value is only hidden as the value of a name (``name=value``, ``"name": "value"``), and not
if the name or a prefix says that it is a hash, a revision or an id.
"""

from __future__ import annotations

import re
from itertools import pairwise

from pi.batteries.secrets.names import is_secret_name, names_hash

SHORTEST_RANDOM = 32
"""Minimal length: 128 bits in hexadecimal digits, 192 in base64."""
LONGEST_RANDOM = 512
"""Longer base64 is a file, not a key."""
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_NAMED_HASH = re.compile(r"(?i)(?:sha\d+|md5|h1|zh)[-:=]")


def is_random_secret(name: str, value: str) -> bool:
    """Whether ``value`` is long and random, and ``name`` does not say that it is a hash."""
    if not SHORTEST_RANDOM <= len(value) <= LONGEST_RANDOM or names_hash(name):
        return False
    if _HEX.fullmatch(value.removeprefix("0x")):
        has_both = any(letter.isdigit() for letter in value) and not value.isdigit()
        return has_both and len(set(value)) >= 8
    if not _BASE64.fullmatch(value) or _NAMED_HASH.match(value):
        return False
    if is_secret_name(name, value):
        return len(set(value)) >= 12 and any(letter.isdigit() for letter in value)
    parts = re.split(r"[-_/+=]", value.rstrip("="))
    # Paths and names have many separators and few changes; of base64 one letter in 32 is one.
    joined = "".join(parts) if len(parts) - 1 <= len(value) / 6 else ""
    return _is_mixed(max(parts, key=len), 0.42) or _is_mixed(joined, 0.5)


def _is_mixed(text: str, least: float) -> bool:
    """Whether kinds of letters change as often as by chance; in names and paths they do not."""
    kinds = [_kind(letter) for letter in text]
    if len(kinds) < SHORTEST_RANDOM // 2 or len(set(kinds)) < 3 or kinds.count("digit") < 2:
        return False
    # By chance six of ten, in CamelCase up to four.
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes >= least * len(kinds)


def _kind(letter: str) -> str:
    return "digit" if letter.isdigit() else "upper" if letter.isupper() else "lower"
