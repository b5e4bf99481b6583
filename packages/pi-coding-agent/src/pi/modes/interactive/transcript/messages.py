"""Message blocks: user messages, answers, thinking, custom messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pi.ai.messages import Image
from pi.base.terminal_text import one_line
from pi.coding.mentions import with_chips
from pi.modes.interactive.transcript.block import (
    THINKING,
    Block,
    MarkdownKind,
    TranscriptOptions,
    clip_rows,
    more_rows,
)
from pi.modes.interactive.transcript.image_cache import ImageCache
from pi.tui.component import PROMPT_MARK
from pi.tui.text.width import pad_to_width, truncate_to_width

if TYPE_CHECKING:
    from pi.tui.widgets.markdown.widget import Markdown

Kind: TypeAlias = Literal["text", "thinking"]

THOUGHT_ROWS = 6
"""Rows of a thought that are shown while it arrives, if it will be folded."""
USER_ROWS = 24
"""Rows of a user message shown while folded."""
USER_END_ROWS = 6
"""How many of ``USER_ROWS`` are the last rows of the message."""

AUTHOR_COLUMNS = 40
"""Columns of an author's name; a guest chooses it."""

_BAR = "▌"
_SKILL = re.compile(
    r'\A<skill name="([^"]+)" location="[^"]*">\n.*?\n</skill>(?:\n\n(.*))?\Z', re.S
)
_FILE = re.compile(r'<file name="([^"]+)">(?=\n|</file>)')
_FILE_END = "</file>"


def _new_markdown(*arguments: Any, **options: Any) -> Markdown:
    # Deferred: the footer is shown before Markdown is loaded.
    from pi.tui.widgets.markdown.widget import Markdown

    return Markdown(*arguments, **options)


class _CodeViews:
    """Draws code with extensions, which may be loaded after a message began."""

    def __init__(self, look: TranscriptOptions) -> None:
        self._look = look

    def draws(self, language: str) -> bool:
        return bool(language) and self._look.views.draws_code(language)

    def rows(self, language: str, text: str, width: int, *, is_open: bool) -> list[str] | None:
        return self._look.views.code(language, text, width, is_open=is_open)


class UserBlock(Block):
    """A user message as typed; inserted files and skills are folded.

    ``author`` is shown above it: several people may write in a shared session.
    """

    def __init__(
        self, look: TranscriptOptions, text: str, images: Sequence[Image] = (), *, author: str = ""
    ) -> None:
        super().__init__(look)
        self._author = author
        self._images = images
        self._pictures = ImageCache(look)
        self._whole = self._markdown(text)
        self._short = self._markdown(without_pastes(as_typed(text), look.pastes))

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        super().invalidate()
        self._whole.invalidate()
        self._short.invalidate()

    def draw(self, width: int) -> list[str]:
        """The text with a bar, on a background if there are enough colours."""
        theme, inside = self.look.theme, max(width - 3, 1)
        bar, background = theme.paint("accent")(_BAR), theme.paint("userMessageBg")
        if self.look.is_expanded:
            rows = self._whole.render(inside)
        else:
            rows = self._short.render(inside)
            if (hidden := len(rows) - USER_ROWS) > 1:
                more = clip_rows([more_rows(hidden, self.look)], inside)
                # A question often stands below the text that it is about.
                rows = [*rows[: USER_ROWS - USER_END_ROWS], *more, *rows[-USER_END_ROWS:]]
        if self._author:
            badge = truncate_to_width(self._author, min(inside, AUTHOR_COLUMNS), "…")
            rows = [theme.paint("accent")(badge), *rows]
        painted = [background(pad_to_width(f"{bar} {row}", width)) for row in rows]
        if painted and self.look.marks_prompts:
            painted[0] = PROMPT_MARK + painted[0]
        return painted + self._pictures.rows(self._images, width)

    def _markdown(self, text: str) -> Markdown:
        return _new_markdown(
            text,
            0,
            0,
            self.look.theme.markdown_in("userMessageText"),
            has_hyperlinks=self.look.has_hyperlinks,
            keeps_list_markers=True,
            keeps_backslashes=True,
            transform=lambda text: self.look.views.markdown(text, "user"),
        )


def author_of(meta: object) -> str:
    """Return the author in the metadata of a message, in one line; empty if there is none."""
    author = meta.get("author") if isinstance(meta, dict) else None
    if isinstance(author, dict):
        author = author.get("name")
    return one_line(author).strip() if isinstance(author, str) else ""


def as_typed(text: str) -> str:
    """Return a message with the user's text in place of inserted skills and files."""
    text = _SKILL.sub(lambda match: f"/skill:{match[1]} {match[2] or ''}".rstrip(), text)
    chips = with_chips(text)
    return _without_files(text) if chips is None else chips


def without_pastes(text: str, pastes: Sequence[str]) -> str:
    """Return a message with ``[paste +200 lines]`` in place of pasted texts."""
    for pasted in sorted(pastes, key=len, reverse=True):
        text = text.replace(pasted, f"[paste +{pasted.count(chr(10)) + 1} lines]")
    return text


def _without_files(text: str) -> str:
    """Replace file contents by names; unclosed file blocks are unchanged.

    Not with one regular expression: it would scan for an end from every start.
    """
    parts, done, is_open = list[str](), 0, False
    for start in _FILE.finditer(text):
        inside = start.end()
        if start.start() < done:
            continue  # the note of an omitted file
        end = inside if text.startswith(_FILE_END, inside) else -1
        if end < 0 and not is_open and text[inside] == "\n":
            marker = text.find(f"\n{_FILE_END}", inside + 1)
            is_open, end = marker < 0, marker + 1 if marker >= 0 else -1
        if end >= 0:
            parts += text[done : start.start()], f"@{start[1]}"
            done = end + len(_FILE_END)
    return "".join(parts) + text[done:]


class CustomBlock(Block):
    """A message of an extension."""

    def __init__(self, look: TranscriptOptions, label: str, text: str) -> None:
        super().__init__(look)
        self._label = one_line(label)
        theme = look.theme.markdown_in("customMessageText")
        self._markdown = _new_markdown(text, 0, 0, theme, has_hyperlinks=look.has_hyperlinks)

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        super().invalidate()
        self._markdown.invalidate()

    def draw(self, width: int) -> list[str]:
        """The label, then the text."""
        theme = self.look.theme
        background = theme.paint("customMessageBg")
        label = theme.paint("customMessageLabel", bold=True)(self._label)
        rows = [label, *self._markdown.render(max(width - 2, 1))]
        return [background(pad_to_width(f" {row}", width)) for row in rows]


class AnswerBlock:
    """Text and thinking of an answer, in order, growing until ``finish``.

    ``commit_safe_end`` returns how many rows are stable, so that a long answer goes into the
    terminal's history while it is streaming.
    """

    def __init__(self, look: TranscriptOptions, *, is_stored: bool = False) -> None:
        self.is_final = False
        self._look = look
        self._is_stored = is_stored
        """Whether it was complete before it is drawn: its duration is not known."""
        self._parts: list[_Part] = []
        self._drawn: list[list[str]] = []
        self._rows: list[str] = []

    def append(self, kind: Kind, text: str) -> None:
        """Add to the open part; another kind opens another part."""
        if not self._parts or self._parts[-1].kind != kind:
            self.open(kind)
        self._parts[-1].append(text)

    def open(self, kind: Kind) -> None:
        """Start another part."""
        self._finish_part()
        self._parts.append(_Part(kind, self._look, is_stored=self._is_stored))

    def finish(self) -> None:
        """The answer is complete."""
        self._finish_part()
        self.is_final = True

    @property
    def is_empty(self) -> bool:
        """Whether it has no text, only spaces: some models send these before a tool call."""
        return not any(part.has_text for part in self._parts)

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        self._drawn = []
        for part in self._parts:
            part.invalidate()

    @property
    def commit_safe_end(self) -> int | None:
        """How many rows from the first have final text, maybe in other colours."""
        if not self._drawn or not self._drawn[-1]:
            return len(self._rows)
        settled = self._parts[-1].settled
        # A part that is empty in the end, like a link's address, has no empty row before it.
        return len(self._rows) - len(self._drawn[-1]) + (settled or -1)

    def render(self, width: int) -> list[str]:
        """The parts with an empty row before each."""
        drawn = [part.render(width) for part in self._parts]
        if len(drawn) != len(self._drawn) or any(map(_differs, drawn, self._drawn)):
            self._drawn = drawn
            self._rows = [row for rows in drawn if rows for row in ("", *rows)]
        return self._rows

    def _finish_part(self) -> None:
        if self._parts:
            self._parts[-1].finish()


class _Part:
    """One text or thinking part. What arrives between two frames is parsed once."""

    def __init__(self, kind: Kind, look: TranscriptOptions, *, is_stored: bool = False) -> None:
        self.kind: Kind = kind
        self._look = look
        self._began = None if is_stored else look.monotonic()
        self._seconds: float | None = None
        self._new: list[str] = []
        self._tail: tuple[list[str], list[str]] = ([], [])
        """The rows of a streaming thought, and the last of them."""
        self._hidden: tuple[int, list[str]] | None = None
        """The row of a hidden thought, and its width."""
        self._is_complete = False
        is_thought = kind == "thinking"
        markdown_kind: MarkdownKind = "assistant-thinking" if is_thought else "assistant"
        self._markdown = _new_markdown(
            "",
            look.pad,
            0,
            look.theme.thinking if is_thought else look.theme.markdown,
            has_hyperlinks=look.has_hyperlinks,
            draws_formulas=True,
            code_views=_CodeViews(look),
            transform=lambda text: look.views.markdown(
                text, markdown_kind, is_streaming=not self._is_complete
            ),
            is_streaming=True,
        )

    @property
    def has_text(self) -> bool:
        return bool(self._markdown.text.strip() or "".join(self._new).strip())

    def append(self, text: str) -> None:
        self._new.append(text)

    def finish(self) -> None:
        if not self._is_complete:
            self._is_complete = True
            if self._began is not None:
                self._seconds = self._look.monotonic() - self._began
            self._hidden = None
            self._markdown.finish("".join(self._new))
            self._new = []

    def invalidate(self) -> None:
        self._hidden = None
        self._markdown.invalidate()

    def render(self, width: int) -> list[str]:
        self._flush()
        if not self._is_hidden:
            rows = self._markdown.render(width)
            if not self._is_folded or len(rows) <= THOUGHT_ROWS:
                return rows
            if self._tail[0] is not rows:
                self._tail = (rows, rows[-THOUGHT_ROWS:])
            return self._tail[1]
        if self._hidden is None or self._hidden[0] != width:
            paint = self._look.theme.paint("thinkingText", italic=True)
            rows = clip_rows([" " * self._look.pad + paint(self._label)], width)
            self._hidden = (width, rows)
        return self._hidden[1] if self._markdown.text.strip() else []

    @property
    def settled(self) -> int:
        """How many of the rows drawn last have final text."""
        rows = self._markdown.settled_end
        if self._is_folded or self._is_hidden:
            return 1 if self._is_complete else 0
        return 1 if rows is None else rows

    @property
    def _label(self) -> str:
        """The row of a hidden thought: its duration, once it is complete."""
        look, key = self._look, self._look.thinking_key()
        if not self._is_complete or look.thinking_label != THINKING:
            return look.thinking_label
        seconds = f" for {max(round(self._seconds), 1)} s" if self._seconds is not None else ""
        return f"Thought{seconds}{f' ({key})' if key else ''}"

    @property
    def _is_hidden(self) -> bool:
        look = self._look
        is_folded = look.folds_thinking and self._is_complete
        return self.kind == "thinking" and (look.hides_thinking or is_folded)

    @property
    def _is_folded(self) -> bool:
        look = self._look
        return self.kind == "thinking" and look.folds_thinking and not look.hides_thinking

    def _flush(self) -> None:
        if self._new:
            self._markdown.append("".join(self._new))
            self._new = []


def _differs(one: list[str], other: list[str]) -> bool:
    return one is not other
