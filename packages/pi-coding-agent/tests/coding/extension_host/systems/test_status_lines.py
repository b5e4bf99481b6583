"""Status lines: rows with their own timer that redraw nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pi.extension import Drawable, ExtensionAPI
from tests.coding.extension_host.extension_session import FakeUI, extension_session


class Row:
    """A row on the screen."""

    def __init__(self, drawable: Drawable) -> None:
        self.drawable = drawable
        self.painted = 0
        self.removed = False

    def invalidate(self) -> None:
        self.painted += 1

    def remove(self) -> None:
        self.removed = True


class Rows(FakeUI):
    """A UI with rows below its footer."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, Row] = {}

    def set_rows(self, key: str, rows: Drawable, **options: Any) -> Row:
        return self.rows.setdefault(key, Row(rows))


def clock(name: str, seconds: float) -> Any:
    def extension(pi: ExtensionAPI) -> None:
        class Time:
            def render(self, width: int) -> Sequence[str]:
                return [f"{pi.scope.clock.monotonic():g} s"[:width]]

        @pi.on("session_start")
        def show(event: Any, ctx: Any) -> None:
            row = ctx.ui.add_footer_line(name, Time())
            pi.scope.every(seconds, row.invalidate)

    return extension


async def test_each_row_is_redrawn_by_its_own_timer_and_removed_with_the_session(
    tmp_path: Path,
) -> None:
    ui = Rows()
    async with extension_session(tmp_path, clock("fast", 1), clock("slow", 5), ui=ui) as hosted:
        await hosted.fixture.clock.advance(10)

        assert {key: row.painted for key, row in ui.rows.items()} == {"fast": 10, "slow": 2}
        assert ui.rows["fast"].drawable.render(80) == ["10 s"]
        assert hosted.failures == []
    assert [row.removed for row in ui.rows.values()] == [True, True]


async def test_without_a_screen_nothing_is_shown_and_nothing_fails(tmp_path: Path) -> None:
    async with extension_session(tmp_path, clock("fast", 1)) as hosted:
        await hosted.fixture.clock.advance(3)

        assert hosted.failures == []
