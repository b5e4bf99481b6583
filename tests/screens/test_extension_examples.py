from __future__ import annotations

from pathlib import Path

from pi.ai.providers.faux import Step
from pi.testing import calls, says
from scripts.workspace import ROOT, find_example
from tests.screens.extended_app import ExtendedApp


def extension_session(tmp_path: Path, name: str, *steps: Step) -> ExtendedApp:
    """The application with one of the examples."""
    source = find_example(ROOT, f"extensions/{name}.py").read_text(encoding="utf-8")
    return ExtendedApp(tmp_path, source, *steps, rows=30)


async def test_deletions_are_confirmed(tmp_path: Path) -> None:
    steps = (calls("bash", command="rm -r build"), says("As you wish."))
    async with extension_session(tmp_path, "confirm_deletions", *steps).running() as app_fixture:
        app_fixture.send("clean up")
        await app_fixture.sees("Delete?")
        await app_fixture.sees("rm -r build")
        app_fixture.type("\x1b")
        await app_fixture.sees("As you wish.")
        await app_fixture.sees("✗ $ rm -r build")


async def test_the_footer_shows_the_model_and_the_context_usage(tmp_path: Path) -> None:
    async with extension_session(tmp_path, "custom_footer").running() as app_fixture:
        await app_fixture.sees("faux, 0 % full")
        assert "(faux) faux" not in app_fixture.screen


async def test_a_note_is_shown_in_a_frame(tmp_path: Path) -> None:
    async with extension_session(tmp_path, "message_renderer").running() as app_fixture:
        app_fixture.send("/note remember the milk")
        await app_fixture.sees(f"{'-' * 80}\nremember the milk\n{'-' * 80}")


async def test_tasks_are_shown_above_the_editor(tmp_path: Path) -> None:
    steps = (calls("todo", tasks=["write", "read"]), says("Noted."))
    async with extension_session(tmp_path, "todo", *steps).running() as app_fixture:
        app_fixture.send("plan it")
        await app_fixture.sees("Noted.")
        await app_fixture.sees("[ ] write\n[ ] read\n─")


async def test_minutes_are_counted_in_the_status_line(tmp_path: Path) -> None:
    async with extension_session(tmp_path, "status_widget").running() as app_fixture:
        await app_fixture.sees("(faux) faux")
        await app_fixture.clock.advance(60.0)
        await app_fixture.sees("min")


async def test_planning_is_reported_in_the_status_line(tmp_path: Path) -> None:
    async with extension_session(tmp_path, "plan_mode").running() as app_fixture:
        app_fixture.send("/plan")
        await app_fixture.sees("planning")
