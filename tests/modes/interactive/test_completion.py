from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.theatre import Theatre
from tests.screens.extended import extended


async def test_commands_templates_and_skills_are_offered(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, rows=40)
    theatre.stage.write(".pi/agent/prompts/review.md", "Review this.")
    theatre.stage.write(
        ".pi/agent/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: reads PDFs\n---\nx"
    )
    async with theatre.playing():
        theatre.type("/")
        await theatre.sees("quit")
        for name in ("model", "review", "skill:pdf"):
            assert name in theatre.screen


async def test_skills_can_be_kept_out_of_the_menu(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, rows=40)
    theatre.stage.write(".pi/agent/settings.json", '{"enableSkillCommands": false}')
    theatre.stage.write(
        ".pi/agent/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: reads PDFs\n---\nx"
    )
    async with theatre.playing():
        theatre.type("/")
        await theatre.sees("quit")
        assert "skill:pdf" not in theatre.screen


async def test_files_are_offered_behind_an_at_sign(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, rows=40)
    theatre.stage.write("project/src/deep/needle.py", "x")
    async with theatre.playing():
        theatre.type("see @needl")
        await theatre.sees("needle.py")
        theatre.type("\t")
        await theatre.sees("see @src/deep/needle.py")


async def test_tab_completes_paths(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, rows=40)
    theatre.stage.write("project/unique_name.txt", "x")
    async with theatre.playing():
        theatre.type("cat uni\t")
        await theatre.sees("cat unique_name.txt")


async def test_references_of_extensions_are_offered(tmp_path: Path) -> None:
    source = """
    class Rules:
        async def read(self, ref, window):
            return Resource(text="x")

        def complete(self, prefix):
            return ["style", "tests"]

    pi.add_scheme("rule", Rules())
    """
    async with extended(tmp_path, source).playing() as theatre:
        theatre.type("see @rule://te")
        await theatre.sees("rule://tests")
        theatre.type("\t")
        await theatre.sees("see @rule://tests")
        theatre.type(" and rule://st\t")
        await theatre.sees("→ rule://style")
        theatre.type("\t")
        await theatre.sees("and rule://style")
