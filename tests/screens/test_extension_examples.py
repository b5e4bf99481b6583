from __future__ import annotations

from pathlib import Path

from pi.ai.providers.faux import Step
from pi.testing import calls, says
from tests.conftest import ROOT
from tests.screens.extended import Extended


def playing(tmp_path: Path, name: str, *steps: Step) -> Extended:
    """A theatre with one of the examples."""
    source = (ROOT / "examples" / "extensions" / f"{name}.py").read_text(encoding="utf-8")
    return Extended(tmp_path, source, *steps, rows=30)


async def test_deletions_are_confirmed(tmp_path: Path) -> None:
    steps = (calls("bash", command="rm -r build"), says("As you wish."))
    async with playing(tmp_path, "confirm_deletions", *steps).playing() as theatre:
        theatre.send("clean up")
        await theatre.sees("Delete?")
        await theatre.sees("rm -r build")
        theatre.type("\x1b")
        await theatre.sees("As you wish.")
        await theatre.sees("✗ $ rm -r build")


async def test_the_footer_shows_the_model_and_how_full_it_is(tmp_path: Path) -> None:
    async with playing(tmp_path, "custom_footer").playing() as theatre:
        await theatre.sees("faux, 0 % full")
        assert "(faux) faux" not in theatre.screen


async def test_a_note_stands_in_a_frame(tmp_path: Path) -> None:
    async with playing(tmp_path, "message_renderer").playing() as theatre:
        theatre.send("/note remember the milk")
        await theatre.sees(f"{'-' * 80}\nremember the milk\n{'-' * 80}")


async def test_tasks_stand_above_the_editor(tmp_path: Path) -> None:
    steps = (calls("todo", tasks=["write", "read"]), says("Noted."))
    async with playing(tmp_path, "todo", *steps).playing() as theatre:
        theatre.send("plan it")
        await theatre.sees("Noted.")
        await theatre.sees("[ ] write\n[ ] read\n─")


async def test_minutes_are_counted_in_the_status_line(tmp_path: Path) -> None:
    async with playing(tmp_path, "status_widget").playing() as theatre:
        await theatre.sees("(faux) faux")
        await theatre.clock.advance(60.0)
        await theatre.sees("min")


async def test_planning_is_reported_in_the_status_line(tmp_path: Path) -> None:
    async with playing(tmp_path, "plan_mode").playing() as theatre:
        theatre.send("/plan")
        await theatre.sees("planning")
