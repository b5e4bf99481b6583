"""``<think>`` tags, which servers without a reasoning parser send in the text. Pure.

Text between the tags is thinking, unless the tags are in code. Deltas may split tags anywhere.
"""

import re
from collections.abc import Iterator

OPEN, CLOSE = "<think>", "</think>"

_MARKS = re.compile(r"\n|`+|~{3,}")


class CodeFenceTracker:
    """Tracks Markdown to know whether the end of a text is in code."""

    def __init__(self) -> None:
        self._fence = ""
        self._inline = ""
        self._line_is_blank = True

    @property
    def in_code(self) -> bool:
        """Whether the next character is code."""
        return bool(self._fence or self._inline)

    def read(self, text: str) -> None:
        """Continue with ``text``, which must not end within a run of backticks."""
        start = 0
        for mark in _MARKS.finditer(text):
            self._pass_over(text[start : mark.start()])
            start = mark.end()
            if mark[0] == "\n":
                self._end_line()
            else:
                self._mark(mark[0])
        self._pass_over(text[start:])

    def _pass_over(self, text: str) -> None:
        self._line_is_blank = self._line_is_blank and not text.strip()

    def _end_line(self) -> None:
        if self._line_is_blank:
            self._inline = ""  # a paragraph ends, and with it unclosed inline code
        self._line_is_blank = True

    def _mark(self, mark: str) -> None:
        if self._fence:
            if self._line_is_blank and mark.startswith(self._fence):
                self._fence = ""
        elif self._inline:
            if mark == self._inline:
                self._inline = ""
        elif self._line_is_blank and len(mark) >= 3:
            self._fence = mark
        elif mark[0] == "`":
            self._inline = mark
        self._line_is_blank = False


class ThinkTags:
    """Splits visible text into text and thinking, for servers without a reasoning parser.

    Text between ``<think>`` tags is thinking, unless the tags are in code. Deltas may split tags
    anywhere.

    While ``plain``, a delta without ``<`` is plain text: append it to ``unread``, which is needed
    only to detect code around a later tag.
    """

    def __init__(self) -> None:
        self.plain = True
        self.unread: list[str] = []
        self._markdown = CodeFenceTracker()
        self._thinking = False
        self._held = ""
        self._after_tag = False

    def split(self, text: str) -> Iterator[tuple[bool, str]]:
        """Yield the pieces of ``text`` as pairs: whether it is thinking, and the piece."""
        text = self._held + text
        while (tag := CLOSE if self._thinking else OPEN) in text:
            before, _, text = text.partition(tag)
            yield from self._piece(before)
            if self._thinking or not self._in_code():
                self._thinking = not self._thinking
                self._after_tag = True
            else:
                yield from self._piece(tag)
        end = text.rfind("<")
        if end < 0 or not tag.startswith(text[end:]):
            end = len(text)
        self._held = text[end:]
        yield from self._piece(text[:end])
        self.plain = not (self._thinking or self._held or self._after_tag)

    def rest(self) -> Iterator[tuple[bool, str]]:
        """Yield the text that was held back as the possible start of a tag."""
        held, self._held = self._held, ""
        yield from self._piece(held)

    def _piece(self, text: str) -> Iterator[tuple[bool, str]]:
        if self._after_tag:
            text = text.lstrip("\n")  # line ends around thinking belong to the tags
        if not text:
            return
        self._after_tag = False
        if not self._thinking:
            self.unread.append(text)
        yield self._thinking, text

    def _in_code(self) -> bool:
        self._markdown.read("".join(self.unread))
        self.unread.clear()
        return self._markdown.in_code
