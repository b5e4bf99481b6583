from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.theatre import Theatre


async def test_everything_that_was_opened_is_used_and_left(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    begun: list[str] = []

    async def begin() -> None:
        begun.append("begun")

    theatre.begin, theatre.command = begin, "copy"
    async with theatre.playing():
        await theatre.until(lambda: theatre.commands is not None and bool(theatre.commands.ran))

    assert theatre.commands is not None
    assert (begun, theatre.commands.ran, theatre.hint) == (
        ["begun"],
        [("copy", "")],
        "To resume this session: pi --session x",
    )
