"""Short blocks: notices, dividers, and shell commands of the user."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import dedent
from typing import Literal, TypeAlias

from msgspec import UnsetType

from pi.base.terminal_text import one_line, sanitise, sanitise_keeping_style
from pi.coding.session.entries import BashExecution
from pi.coding.shell.local import BashResult
from pi.modes.interactive.transcript.block import (
    Block,
    TranscriptOptions,
    clip_rows,
    hanging,
    more_rows,
)
from pi.modes.interactive.transcript.provider_errors import describe_provider_error
from pi.tui.component import Component
from pi.tui.text.ansi import link, strip_sequences
from pi.tui.text.width import expand_tabs, truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_parts, wrap_text

# Blocks -------------------------------------------------------------------------------------------

Level: TypeAlias = Literal["info", "success", "warning", "error"]

_LOOKS: dict[Level, tuple[str, str]] = {
    "info": ("", "muted"),
    "success": ("✓ ", "success"),
    "warning": ("! ", "warning"),
    "error": ("✗ ", "error"),
}

COMMAND_ROWS = 4
"""Rows of the command itself while folded."""
BASH_ROWS = 20
"""Rows of a user's command: more than of a tool call."""
MAX_KEPT = 50 * 1024
"""Maximum characters kept of a running command, which bounds the cost of a frame."""


_ADDRESS = re.compile(r"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]]")


class NoticeBlock(Block):
    """A notice."""

    def __init__(self, look: TranscriptOptions, text: str, level: Level = "info") -> None:
        super().__init__(look)
        text = describe_provider_error(text) if level == "error" else text
        # Not ``strip()``: the first row of a list keeps its indentation.
        self.text = dedent(sanitise(text).strip("\n")).rstrip()
        self._level: Level = level

    def draw(self, width: int) -> list[str]:
        """The text with a sign for its level."""
        sign, token = _LOOKS[self._level]
        paint = self.look.theme.paint(token)
        text = self.text
        if self.look.has_hyperlinks:
            # A long address is broken into rows: without this a click opens the first of them only.
            text = _ADDRESS.sub(lambda match: link(match[0], match[0]), text)
        rows: list[str] = []
        for line in text.split("\n"):
            margin = " " * len(sign) if rows else sign
            if self._level == "info" and visible_width(line) >= width and _is_one_word(line):
                # Without a margin: a copied address must not contain blanks.
                rows += [paint(row) for row in wrap_text(line.strip(), width)]
                continue
            for row in wrap_text(line, max(width - len(sign) - 2, 1)):
                rows.append(f" {paint(margin + row)}")
                margin = " " * len(sign)
        return rows


def _is_one_word(line: str) -> bool:
    return len(strip_sequences(line).split()) == 1


_NARROW = 60
"""Columns below which the row of a retry is shortened."""


class FailureBlock(Block):
    """A failed answer and its retries: one row that is updated until the outcome is known."""

    commit_safe_end = 0
    """The whole block changes until it is final."""

    def __init__(self, look: TranscriptOptions, error: str) -> None:
        super().__init__(look)
        self.is_final = False
        self._error = sanitise(describe_provider_error(error)).strip()
        self._failures = 1
        self._wait: tuple[int, int] | None = None
        """The number of the next attempt, and how many there are."""
        self._ending = ""

    def fail(self, error: str) -> None:
        """Another attempt has failed."""
        self._error = sanitise(describe_provider_error(error)).strip()
        self._failures += 1
        self._wait = None
        self.invalidate()

    def wait(self, attempt: int, most: int) -> None:
        """Another attempt will be made."""
        self._wait = (attempt, most)
        self.invalidate()

    def recover(self) -> None:
        """A retry was answered: the failure is no longer shown as an error."""
        if not self.is_final:
            times = "once" if self._failures == 1 else f"{self._failures} times"
            self._end(f"retried {times}")

    def give_up(self, ending: str) -> None:
        """No further attempt is made; ``ending`` is a sentence, or empty."""
        self._error = "\n".join(filter(None, (self._error, ending)))
        self._end("")

    def settle(self) -> None:
        """The failure is final: it was not retried."""
        if not self.is_final:
            self._end("")

    def draw(self, width: int) -> list[str]:
        """The error, or one row while and after it was retried."""
        if self._wait is None and not self._ending:
            return NoticeBlock(self.look, self._error, "error").draw(width)
        note, token = self._ending, "dim"
        if self._wait is not None and not self.is_final:
            # The editor's border counts the seconds.
            attempt, most = self._wait
            note, token = f"retrying (attempt {attempt} of {most})", "warning"
            if visible_width(self._error) + visible_width(note) + 7 > width < _NARROW:
                note = f"retry {attempt}/{most}"  # the cause needs the room
        error_width = max(width - visible_width(note) - 7, 8)
        error = truncate_to_width(one_line(self._error), error_width, "…")
        row = f" {self.look.theme.paint(token)(f'↻ {error} · {note}')}"
        return [truncate_to_width(row, width, "…")]

    def _end(self, ending: str) -> None:
        self._ending, self._wait, self.is_final = ending, None, True
        self.invalidate()


class WarmingBlock(Block):
    """Refreshes of the provider's cache in one row, which adds up those that follow each other."""

    commit_safe_end = 0
    """The row changes until another block follows."""

    def __init__(self, look: TranscriptOptions) -> None:
        super().__init__(look)
        self.is_final = False
        self._count = 0
        self._cost = 0.0

    def add(self, cost: float) -> None:
        """Count one more refresh."""
        self._count += 1
        self._cost += cost
        self.invalidate()

    def settle(self) -> None:
        """Another block follows: the row is final."""
        self.is_final = True
        self.invalidate()

    def draw(self, width: int) -> list[str]:
        """How often, and what it cost."""
        times = "once" if self._count == 1 else f"{self._count} times"
        text = f"Kept the provider's cache warm {times} · ${self._cost:.4f}"
        return [truncate_to_width(f" {self.look.theme.paint('dim')(text)}", width, "…")]


class OutputBlock(Block):
    """The output of a command; its own space above and below is trimmed."""

    def __init__(self, look: TranscriptOptions, inside: Component) -> None:
        super().__init__(look)
        self._inside = inside

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        super().invalidate()
        self._inside.invalidate()

    def draw(self, width: int) -> list[str]:
        """The rows from the first to the last with text."""
        rows = self._inside.render(width)
        with_text = [number for number, row in enumerate(rows) if strip_sequences(row).strip()]
        return rows[with_text[0] : with_text[-1] + 1] if with_text else []


class LinesBlock(Block):
    """A few dim lines of facts, e.g. those at the start."""

    def __init__(self, look: TranscriptOptions, lines: Sequence[str]) -> None:
        super().__init__(look)
        self._lines = [sanitise(line) for line in lines]

    def draw(self, width: int) -> list[str]:
        """The lines, wrapped between two facts."""
        text_width, dim = max(width - 2, 1), self.look.theme.paint("dim")
        return [
            f" {dim(row)}" for line in self._lines for row in wrap_parts(line, " · ", text_width)
        ]


class DividerBlock(Block):
    """A line across the transcript with a title, and text below when expanded."""

    def __init__(self, look: TranscriptOptions, title: str, text: str = "") -> None:
        super().__init__(look)
        self._title = one_line(title)
        self._text = text.strip()

    def draw(self, width: int) -> list[str]:
        """The line, and the text if expanded."""
        theme = self.look.theme
        is_open = bool(self._text) and self.look.is_expanded
        hint = f" ({self.look.expand_key()} to expand)" if self._text and not is_open else ""
        title = truncate_to_width(self._title + hint, max(width - 6, 1), "…")
        tail = "─" * max(width - visible_width(title) - 4, 0)
        line = theme.paint("borderMuted")
        row = f"{line('──')} {theme.paint('muted')(title)} {line(tail)}"
        rows = [truncate_to_width(row, width, "")]
        if is_open:
            # Deferred: the footer is shown before Markdown is loaded.
            from pi.tui.widgets.markdown.widget import Markdown

            rows += Markdown(self._text, self.look.pad, 0, theme.thinking).render(width)
        return rows


class UserBashBlock(Block):
    """A shell command of the user with its output and exit status."""

    commit_safe_end = 2
    """Until it has ended only the space above and the first row of the command are final."""

    def __init__(self, look: TranscriptOptions, command: str, *, is_excluded: bool) -> None:
        super().__init__(look)
        self.is_final = False
        self._command = sanitise(command).strip().split("\n")
        self._is_excluded = is_excluded
        self._text = ""
        self._note = ""
        self._has_failed = False

    def append(self, text: str) -> None:
        """Add output; only the end of a long output is kept, as in the result."""
        self._text += text
        if len(self._text) > MAX_KEPT:
            end = self._text[-MAX_KEPT:]
            self._text = end.partition("\n")[2] or end
        self.invalidate()

    def end(self, result: BashResult | BashExecution) -> None:
        """The command has ended."""
        # The result is stored without its colours; they stay on this screen, in memory only.
        if strip_sequences(sanitise_keeping_style(self._text)).strip() != result.output.strip():
            self._text = result.output
        if result.cancelled:
            self._note = "cancelled"
        elif not isinstance(result.exit_code, UnsetType) and result.exit_code:
            self._note = f"exit {result.exit_code}"
        self._has_failed = bool(self._note)
        if not isinstance(result.full_output_path, UnsetType) and result.truncated:
            path = one_line(result.full_output_path)
            self._note = f"{self._note} · all of it: {path}".removeprefix(" · ")
        self.is_final = True
        self.invalidate()

    def fail(self, error: str) -> None:
        """The command could not be run."""
        self._note, self._has_failed, self.is_final = one_line(error), True, True
        self.invalidate()

    def draw(self, width: int) -> list[str]:
        """The command after ``!``, the end of its output, and a note."""
        theme = self.look.theme
        sign = "!!" if self._is_excluded else "!"
        mode = theme.paint("dim" if self._is_excluded else "bashMode", bold=True)
        titles = self._titles(mode(sign), width - 1)
        inside = max(width - 3, 1)
        # Deferred: the footer is shown before the views of tools are loaded.
        from pi.modes.interactive.transcript.tool_views.view import folded_tail, painted_output

        lines = painted_output(sanitise_keeping_style(self._text), self.look)
        rows = folded_tail(lines, BASH_ROWS, self.look, inside)
        if self._note:
            paint = theme.paint("error" if self._has_failed else "dim")
            rows += wrap_text(paint(self._note), inside)
        return clip_rows([*(f" {row}" for row in titles), *(f"   {row}" for row in rows)], width)

    def _titles(self, sign: str, width: int) -> list[str]:
        """The command on a few rows, or on all if expanded."""
        paint = self.look.theme.paint("toolTitle", bold=True)
        indent = " " * (visible_width(sign) + 1)
        first, *others = self._command
        rows = hanging(f"{sign} {paint(expand_tabs(first))}", width, indent=indent)
        for line in others:
            wrapped = wrap_text(paint(expand_tabs(line)), max(width - len(indent), 1))
            rows += [indent + row for row in wrapped]
        hidden = len(rows) - COMMAND_ROWS
        if hidden <= 0 or self.look.is_expanded:
            return rows
        return [*rows[: COMMAND_ROWS - 1], indent + more_rows(hidden + 1, self.look)]


def tokens(number: int) -> str:
    """``950``, ``12.3k``, ``1.2M``."""
    if number < 1000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"
