"""The transcript component: blocks, and the options for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pi.base.terminal_text import one_line
from pi.coding.session.display import DisplayTranscript
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.modes.interactive.transcript.builder import TranscriptBuilder
from pi.modes.interactive.transcript.notices import (
    DividerBlock,
    Level,
    NoticeBlock,
    OutputBlock,
    UserBashBlock,
)
from pi.tui.component import Component
from pi.tui.transcript import Transcript

MAX_LOADED = 300
"""Maximum of stored messages that are drawn: a session of ten thousand must open at once."""
MAX_UNFOLDED = 1_000
"""Earlier messages added per expansion: a key must not take seconds."""

Earlier: TypeAlias = Callable[[int | None], DisplayTranscript]
"""Reads messages that end at a position of the log."""


class TranscriptView:
    """The transcript, from top to bottom."""

    def __init__(self, look: TranscriptOptions) -> None:
        self.look = look
        self._blocks = Transcript()
        self.feed = TranscriptBuilder(look, self._blocks.add_child)
        """Turns session events into blocks; ``clear`` replaces it."""
        self._earlier: tuple[DividerBlock, int | None, Earlier] | None = None
        """The divider for earlier messages, where they end, and the function that reads them."""

    @property
    def component(self) -> Transcript:
        """The component to draw."""
        return self._blocks

    def clear(self) -> None:
        """Clear the transcript for another conversation."""
        self._blocks.clear()
        self._earlier = None
        self.feed = TranscriptBuilder(self.look, self._blocks.add_child)

    def load(self, transcript: DisplayTranscript, earlier: Earlier | None = None) -> None:
        """Show a stored conversation; ``transcript`` has only the end of a long one.

        ``earlier`` reads the messages before it, when the transcript is expanded.
        """
        self._earlier = None
        self._show(transcript, self.feed, earlier)

    def _show(
        self, transcript: DisplayTranscript, feed: TranscriptBuilder, earlier: Earlier | None
    ) -> None:
        if transcript.earlier:
            noun = "message" if transcript.earlier == 1 else "messages"
            more = f" ({self.look.expand_key()} for more)" if earlier is not None else ""
            divider = DividerBlock(self.look, f"{transcript.earlier:,} earlier {noun}{more}")
            feed.add(divider)
            if earlier is not None:
                self._earlier = (divider, transcript.end, earlier)
        feed.load(transcript.items)

    def _unfold_earlier(self) -> None:
        """Replace the divider by more of the earlier messages."""
        if self._earlier is None:
            return
        (divider, end, earlier), self._earlier = self._earlier, None
        blocks: list[Component] = []
        self._show(earlier(end), TranscriptBuilder(self.look, blocks.append), earlier)
        self._blocks.replace_child(divider, blocks)

    def add_output(self, output: Component) -> None:
        """Add the output of a command, with the usual space above it."""
        self.feed.remark(OutputBlock(self.look, output))

    def notice(self, text: str, level: Level = "info") -> None:
        """Add a notice."""
        self.feed.remark(NoticeBlock(self.look, text, level))

    def begin_bash(self, command: str, *, is_excluded: bool) -> UserBashBlock:
        """Add and return a block for a shell command of the user."""
        block = UserBashBlock(self.look, command, is_excluded=is_excluded)
        self.feed.remark(block)
        return block

    def toggle_expanded(self) -> bool:
        """Expand or fold everything; returns whether it is expanded now."""
        self.expand(expanded=not self.look.is_expanded)
        return self.look.is_expanded

    def expand(self, *, expanded: bool) -> None:
        """Expand or fold everything; expanding also shows more of a long conversation."""
        if expanded:
            self._unfold_earlier()
        self.look.is_expanded = expanded
        self._blocks.invalidate()

    @property
    def shows_thinking(self) -> bool:
        """Whether finished thoughts are shown in full."""
        return not (self.look.hides_thinking or self.look.folds_thinking)

    def hide_thinking(self, *, hidden: bool, folded: bool = False) -> None:
        """Show or hides thinking, or folds complete thoughts."""
        self.look.hides_thinking, self.look.folds_thinking = hidden, folded
        self._blocks.invalidate()

    def set_thinking_label(self, label: str) -> None:
        """Set the label of hidden thinking."""
        self.look.thinking_label = one_line(label)
        self._blocks.invalidate()
