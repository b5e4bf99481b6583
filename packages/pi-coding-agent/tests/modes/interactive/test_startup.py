from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.app_fixture import AppFixture


async def test_the_opened_session_begins_runs_its_command_and_leaves_a_hint(tmp_path: Path) -> None:
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
