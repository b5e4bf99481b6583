"""Ids of tool calls as Mistral wants them: exactly nine letters and digits. Pure."""

from __future__ import annotations

import hashlib
import re

LENGTH = 9

_VALID = r"[A-Za-z0-9]{9}"


def short_id(identifier: str) -> str:
    """``identifier`` if Mistral takes it, else one that stands for it, always the same."""
    if re.fullmatch(_VALID, identifier):
        return identifier
    return hashlib.sha256(identifier.encode("utf-8", "replace")).hexdigest()[:LENGTH]
