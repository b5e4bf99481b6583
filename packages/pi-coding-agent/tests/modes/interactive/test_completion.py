from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.extended_app import extended


@pytest.mark.parametrize("with_skills", [True, False])
async def test_commands_and_templates_are_offered_and_skills_if_enabled(
    tmp_path: Path, *, with_skills: bool
) -> None:
    app_fixture = AppFixture(tmp_path, rows=40)
    app_fixture.fixture.write(
        ".pi/agent/settings.json", json.dumps({"enableSkillCommands": with_skills})
    )
    app_fixture.fixture.write(".pi/agent/prompts/review.md", "Review this.")
    app_fixture.fixture.write(
        ".pi/agent/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: reads PDFs\n---\nx"
    )
    async with app_fixture.running():
        app_fixture.type("/")
        await app_fixture.sees("quit")
        offered = [name in app_fixture.screen for name in ("model", "review", "skill:pdf")]
        assert offered == [True, True, with_skills]


async def test_files_are_offered_behind_an_at_sign(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, rows=40)
    app_fixture.fixture.write("project/src/deep/needle.py", "x")
    async with app_fixture.running():
        app_fixture.type("see @needl")
        await app_fixture.sees("needle.py")
        app_fixture.type("\t")
        await app_fixture.sees("see @src/deep/needle.py")


async def test_tab_completes_paths(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, rows=40)
    app_fixture.fixture.write("project/unique_name.txt", "x")
    async with app_fixture.running():
        app_fixture.type("cat uni\t")
        await app_fixture.sees("cat unique_name.txt")


async def test_references_of_extensions_are_offered(tmp_path: Path) -> None:
    source = """
    class Rules:
        async def read(self, ref, window):
            return Resource(text="x")

        def complete(self, prefix):
            return ["style", "tests"]

    pi.add_scheme("rule", Rules())
    """
    async with extended(tmp_path, source).running() as app_fixture:
        app_fixture.type("see @rule://te")
        await app_fixture.sees("rule://tests")
        app_fixture.type("\t")
        await app_fixture.sees("see @rule://tests")
        app_fixture.type(" and rule://st\t")
        await app_fixture.sees("→ rule://style")
        app_fixture.type("\t")
        await app_fixture.sees("and rule://style")
