"""The transcript as a component: blocks, and what a person can switch about all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pi.base.terminal_text import one_line
from pi.coding.session.context import DisplayTranscript
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

MOST_LOADED = 300
"""Messages of an earlier day that are drawn: a session of ten thousand must open at once."""
MOST_UNFOLDED = 1_000
"""Earlier ones that are added each time everything is unfolded: a key must not take seconds."""

Earlier: TypeAlias = Callable[[int | None], DisplayTranscript]
"""Reads messages that end at a place of the log."""


class TranscriptView:
    """What was said and done, from top to bottom."""

    def __init__(self, look: TranscriptOptions) -> None:
        self.look = look
        self._blocks = Transcript()
        self._feed = TranscriptBuilder(look, self._blocks.add_child)
        self._earlier: tuple[DividerBlock, int | None, Earlier] | None = None
        """The divider that stands for earlier messages, where they end, and how to read them."""

    @property
    def component(self) -> Transcript:
        """What is put on the screen."""
        return self._blocks

    def hear(self, event: object) -> None:
        """Take note of something that the session tells."""
        self._feed.hear(event)

    def clear(self) -> None:
        """Show nothing, because another conversation follows."""
        self._blocks.clear()
        self._earlier = None
        self._feed = TranscriptBuilder(self.look, self._blocks.add_child)

    def load(self, transcript: DisplayTranscript, earlier: Earlier | None = None) -> None:
        """Show a conversation of before; of a long one ``transcript`` has the end.

        ``earlier`` reads what comes before that, once everything is to be unfolded.
        """
        self._earlier = None
        self._show(transcript, self._feed, earlier)

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
        """Show more of the messages before those that were loaded, in place of their divider."""
        if self._earlier is None:
            return
        (divider, end, earlier), self._earlier = self._earlier, None
        blocks: list[Component] = []
        self._show(earlier(end), TranscriptBuilder(self.look, blocks.append), earlier)
        self._blocks.replace_child(divider, blocks)

    def add(self, block: Component) -> None:
        """Put a block below the others."""
        self._feed.add(block)

    def say(self, told: Component) -> None:
        """Put what a command tells below the others, with the usual space above it."""
        self.add(OutputBlock(self.look, told))

    def notice(self, text: str, level: Level = "info") -> None:
        """Tell something for good."""
        self._feed.remark(NoticeBlock(self.look, text, level))

    def begin_bash(self, command: str, *, is_excluded: bool) -> UserBashBlock:
        """A block for a command that the person runs now."""
        block = UserBashBlock(self.look, command, is_excluded=is_excluded)
        self.add(block)
        return block

    def toggle_expanded(self) -> bool:
        """Fold or unfold everything; whether it is unfolded now."""
        self.expand(expanded=not self.look.is_expanded)
        return self.look.is_expanded

    def expand(self, *, expanded: bool) -> None:
        """Show everything whole, or folded; more of a long conversation is shown when unfolded."""
        if expanded:
            self._unfold_earlier()
        self.look.is_expanded = expanded
        self._blocks.invalidate()

    def hide_thinking(self, *, hidden: bool) -> None:
        """Show thoughts, or only that there are some."""
        self.look.hides_thinking = hidden
        self._blocks.invalidate()

    def call_thinking(self, label: str) -> None:
        """Say what stands for thoughts that are hidden."""
        self.look.thinking_label = one_line(label)
        self._blocks.invalidate()
