"""Here-documents of a command line: their text follows at the end of the line."""

from __future__ import annotations

import re

from pi.base.records import replace
from pi.coding.shell.command_line.parts import CommandPart
from pi.coding.shell.command_line.words import Source


class HereDocument:
    """A here-document, whose text follows at the end of the line."""

    def __init__(self, raw: str, *, strip: bool, together: list[HereDocument]) -> None:
        self.is_quoted = any(char in raw for char in "\\'\"")
        self.together = together
        """All here-documents of the same command."""
        self.part: CommandPart | None = None
        """The command; set in the first one when it is read."""
        self.text: str | None = None
        self.is_read = False
        self._delimiter = re.sub(r"\\(.)|['\"]", r"\1", raw, flags=re.DOTALL)
        self._strip = strip

    def read(self, source: Source) -> str:
        """Returns the lines up to the delimiter, or up to the end as bash does."""
        lines: list[str] = []
        while source.at < len(source.text):
            end = source.text.find("\n", source.at)
            end = len(source.text) if end < 0 else end
            line = source.text[source.at : end]
            source.at = min(end + 1, len(source.text))
            line = line.lstrip("\t") if self._strip else line
            if line == self._delimiter:
                break
            lines.append(line + "\n")
        return "".join(lines)

    def command(self) -> CommandPart | None:
        """The command with its here-documents; ``None`` until all of them are read."""
        first, last = self.together[0], self.together[-1]
        if first.part is None or not last.is_read:
            return None
        texts = iter(self.together)
        redirections = tuple(
            replace(each, document=next(texts).text) if each.operator in ("<<", "<<-") else each
            for each in first.part.redirections
        )
        return replace(first.part, redirections=redirections)
