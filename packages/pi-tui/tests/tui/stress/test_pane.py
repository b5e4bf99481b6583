"""An answer that streams while its pane is resized, on the model of tmux."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from pi.tui.component import CURSOR_MARKER
from pi.tui.screen.reflow import letters
from pi.tui.transcript import Transcript
from pi.tui.tui import TUI
from pi.tui.widgets.markdown.widget import Markdown
from tests.sampling import sampled
from tests.tui.manual_timers import ManualTimers
from tests.tui.stress.tmux_model import TmuxModel

FRAME, SETTLED = 0.02, 0.5
WORD = re.compile(r"w\d+x\d+|[\u4e00-\u9fff]")


def answer(random: Random, parts: int) -> str:
    """Returns paragraphs, lists, tables and code in which every word is unique."""
    ideograms = (chr(code) for code in range(0x4E00, 0x9FFF))
    texts = []
    for part in range(parts):

        def words(most: int, line: int = 0, part: int = part) -> str:
            count = random.randrange(1, most)
            return " ".join(f"w{part * 10 + line}x{number}" for number in range(count))

        chinese = "".join(next(ideograms) for _ in range(random.randrange(1, 60)))
        texts.append(
            random.choice(
                (
                    f"\n{words(30)}\n",
                    f"\n{words(9)} {chinese}\n",
                    "".join(f"- {words(15, line)}\n" for line in range(3)),
                    f"\n> {words(20)}\n",
                    "\n```python\n"
                    + "".join(f"{words(15, line)}\n" for line in range(3))
                    + "```\n",
                    "\n| one | two |\n|---|---|\n"
                    + "".join(
                        f"| {words(9, line)} | {words(9, line + 5)} |\n" for line in range(3)
                    ),
                )
            )
        )
    return "\n".join(texts)


def tall_blocks(random: Random) -> str:
    """Returns a paragraph, a list item, a quote, code and a table, each higher than a window."""

    def words(block: int, line: int, least: int = 6) -> str:
        count = random.randrange(least, least + 6)
        return " ".join(f"w{block * 100 + line}x{number}" for number in range(count))

    shapes = (
        [words(0, line) for line in range(50)],
        [f"- **{words(1, 0)}**", *(f"  {words(1, line)}" for line in range(1, 50))],
        [f"> {words(2, line)}" for line in range(50)],
        ["```python", *(words(3, line) for line in range(50)), "```"],
        ["|a|b|", "|---|---|", *(f"|{words(4, at)}|{words(5, at)}|" for at in range(50))],
    )
    return "\n\n".join("\n".join(shape) for shape in random.sample(shapes, len(shapes)))


class Answer:
    """A message that grows."""

    def __init__(self) -> None:
        self.markdown = Markdown(is_streaming=True)
        self.is_final = False

    @property
    def commit_safe_end(self) -> int | None:
        return self.markdown.settled_end

    def render(self, width: int) -> list[str]:
        return self.markdown.render(width)

    def invalidate(self) -> None:
        self.markdown.invalidate()

    def finish(self) -> None:
        self.markdown.finish()
        self.is_final = True


class Below:
    """Rows below the answer that change and are cut at the width."""

    def __init__(self) -> None:
        self._frames = 0

    def render(self, width: int) -> list[str]:
        self._frames += 1
        path = "/home/ada/some/project/with/a/long/path"
        rows = [
            f"working {self._frames}",
            "─" * width,
            f"> draft{CURSOR_MARKER}",
            "─" * width,
            path,
        ]
        return [row[:width] if CURSOR_MARKER not in row else row for row in rows]

    def invalidate(self) -> None:
        pass


class Stream:
    """The program in its pane."""

    def __init__(self, seed: int, *, rows: int, is_tall: bool = False) -> None:
        self.random = Random(seed)
        self.pane = TmuxModel(self.random.randrange(40, 90), rows)
        self.timers = ManualTimers()
        self.tui = TUI(self.pane, env={"TMUX": "x"}, read_pane=self.pane.look)
        self.answer = Answer()
        transcript = Transcript()
        transcript.add_child(self.answer)
        self.tui.add_child(transcript)
        self.tui.add_child(Below())
        self.text = tall_blocks(self.random) if is_tall else answer(self.random, 25)
        self._streamed = 0
        self.tui.start(self.timers)

    def go_on(self, frames: int) -> None:
        """Streams more of the answer and paints it."""
        for _ in range(frames):
            end = self._streamed + self.random.randrange(5, 60)
            self.answer.markdown.append(self.text[self._streamed : end])
            self._streamed = end
            self.tui.request_render()
            self.timers.advance(FRAME)

    def resize(self, rows: tuple[int, int], *, columns: int | None = None, astray: int = 0) -> None:
        """Changes the size; ``astray`` frames reach the pane before it reports the size."""
        columns = columns or self.random.randrange(30, 100)
        self.pane.resize(columns, self.random.randrange(*rows))
        self.go_on(astray)
        self.pane.report_size()
        self.go_on(3)
        self.timers.advance(SETTLED)

    def rounds(self, most: int) -> Iterator[None]:
        """Yields repeatedly while the answer streams, and then finishes the answer.

        At least once, and fewer than ``most`` times.
        """
        for _ in range(self.random.randrange(1, most)):
            self.go_on(self.random.randrange(10, 60))
            yield
        self._end()

    def _end(self) -> None:
        while self._streamed < len(self.text):
            self.go_on(1)
        self.answer.finish()
        self.tui.request_render()
        self.timers.advance(SETTLED)
        self.tui.stop()

    def wrong(self) -> Counter[str]:
        """Returns missing words, and with a negative count duplicated ones."""
        counts = Counter(WORD.findall("\n".join(self.pane.joined)))
        counts.subtract(WORD.findall(self.text))
        return Counter({word: -count for word, count in counts.items() if count})

    def lost(self) -> list[str]:
        """Returns words that are missing and not merely torn by a misplaced frame."""
        text = letters("".join(self.pane.joined))
        return [word for word in +self.wrong() if word not in text]


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize("seed", sampled(range(20), 3))
def test_a_resize_of_a_pane_neither_loses_nor_duplicates_text(seed: int) -> None:
    stream = Stream(seed, rows=40)
    for _ in stream.rounds(5):
        stream.resize((30, 50))

    assert stream.wrong() == Counter()


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize("seed", sampled(range(20), 3))
def test_no_text_is_lost_if_a_pane_reports_its_size_late(seed: int) -> None:
    stream = Stream(seed, rows=24)
    for _ in stream.rounds(5):
        stream.resize((6, 40), astray=stream.random.randrange(3))

    assert stream.lost() == []


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize("seed", sampled(range(20), 3))
def test_no_text_is_lost_if_a_pane_is_resized_again_before_the_paint(seed: int) -> None:
    stream = Stream(seed, rows=24)
    for _ in stream.rounds(4):
        columns, rows = stream.random.randrange(30, 100), stream.random.randrange(8, 36)
        stream.pane.size_after_look = (columns, rows)
        stream.resize((8, 36))
        stream.pane.report_size()
        stream.timers.advance(SETTLED)

    assert stream.lost() == []


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize("seed", sampled(range(20), 1))
def test_a_resize_within_tall_blocks_neither_loses_nor_duplicates_text(
    seed: int,
) -> None:
    stream = Stream(seed, rows=24, is_tall=True)
    for _ in stream.rounds(5):
        stream.resize((20, 30))

    assert stream.wrong() == Counter()


@pytest.mark.full
@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize("seed", sampled(range(20), 1))
def test_a_frame_painted_before_the_new_height_is_reported_keeps_all_text_once(seed: int) -> None:
    stream = Stream(seed, rows=30, is_tall=True)
    for _ in stream.rounds(5):
        stream.resize((20, 40), columns=stream.pane.columns, astray=1)

    assert stream.wrong() == Counter()
