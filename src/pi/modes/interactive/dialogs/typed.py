"""What the person wrote of a message, for a row of a list. Pure."""

from __future__ import annotations

import re

_FILE = re.compile(r'<file name="([^"]+)">(?:.*?</file>|.*)', re.S)
_SKILL = re.compile(r'\A<skill name="([^"]+)"[^>]*>(?:.*?</skill>|.*)', re.S)


def typed_in_short(text: str) -> str:
    """A message with the names of skills and files that were put in, in place of what they say.

    Of a beginning that was cut in the middle of one, nothing of it is left but the name.
    """
    if not text.startswith("<"):
        return text
    return _FILE.sub(_mention, _SKILL.sub(r"/skill:\1 ", text)).strip()


def _mention(file: re.Match[str]) -> str:
    name = re.split(r"[/\\]", file[1])[-1]
    return f"@{name or file[1]} "
