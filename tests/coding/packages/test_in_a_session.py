"""Packages as a session meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.coding.packages.making import make_package
from tests.coding.runtime.stage import Stage


@pytest.mark.trap(282)
async def test_packages_of_a_project_count_when_it_is_trusted(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    make_package(stage.home / "own", "skills/mine/SKILL.md prompts/hello.md")
    make_package(stage.home / "theirs", "skills/project/SKILL.md")
    stage.write(".pi/agent/settings.json", json.dumps({"packages": ["../../own"]}))
    stage.write("project/.pi/settings.json", json.dumps({"packages": ["../../theirs"]}))

    names = []
    for approve in (None, True):
        session = await stage.open(approve=approve)
        names.append({command.name for command in session.facts.commands()})
        await session.close()

    assert names == [{"hello", "skill:mine"}, {"hello", "skill:mine", "skill:project"}]


async def test_a_package_that_is_not_installed_is_told_and_stops_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.write(".pi/agent/settings.json", json.dumps({"packages": ["npm:tips", "npm:../x"]}))

    session = await stage.open()
    await session.close()

    assert [report.split(":")[1] for report in stage.reports] == [
        ' Cannot understand the package source "npm',
        " Package npm",
    ]
