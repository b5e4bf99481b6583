from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.app_fixture import AppFixture


async def test_everything_that_was_opened_is_used_and_left(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    begun: list[str] = []

    async def begin() -> None:
        begun.append("begun")

    app_fixture.begin, app_fixture.command = begin, "copy"
    async with app_fixture.running():
        await app_fixture.until(
            lambda: app_fixture.commands is not None and bool(app_fixture.commands.ran)
        )

    assert app_fixture.commands is not None
    assert (begun, app_fixture.commands.ran, app_fixture.hint) == (
        ["begun"],
        [("copy", "")],
        "To resume this session: pi --session x",
    )
