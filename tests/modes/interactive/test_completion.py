from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.modes.interactive.theatre import Theatre
from tests.screens.extended import extended


@pytest.mark.parametrize("with_skills", [True, False])
async def test_commands_templates_and_skills_are_offered_if_they_are_requested(
    tmp_path: Path, *, with_skills: bool
) -> None:
    theatre = Theatre(tmp_path, rows=40)
    theatre.stage.write(".pi/agent/settings.json", json.dumps({"enableSkillCommands": with_skills}))
    theatre.stage.write(".pi/agent/prompts/review.md", "Review this.")
    theatre.stage.write(
        ".pi/agent/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: reads PDFs\n---\nx"
    )
    async with theatre.playing():
        theatre.type("/")
        await theatre.sees("quit")
        offered = [name in theatre.screen for name in ("model", "review", "skill:pdf")]
        assert offered == [True, True, with_skills]


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
