from __future__ import annotations

import json
import os
from pathlib import Path

from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.coding.packages.making import Repository, make_package
from tests.coding.runtime.stage import ENVIRON, Stage

CODE = "def extension(pi): ...\n"


def reported(stage: Stage) -> list[str]:
    return [text for text in stage.reports if text.startswith("Install")]


async def test_a_package_that_is_named_and_missing_is_installed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, environ={**ENVIRON, "PATH": os.environ["PATH"]})
    repository = Repository(tmp_path / "tips")
    (repository.folder / "extensions").mkdir()
    (repository.folder / "extensions" / "hello.py").write_text(CODE)
    repository.commit("skills/review/SKILL.md")
    stage.write("project/.pi/settings.json", json.dumps({"packages": [repository.source]}))

    untrusted = await stage.open(approve=False)
    await untrusted.close()
    assert reported(stage) == []

    session = await stage.open(approve=True)
    assert reported(stage) == [
        f"Installing {repository.source}...",
        f"Installed {repository.source}",
    ]
    assert [(info.name, info.rank) for info in session.extensions.infos()] == [("hello", "package")]
    assert [each.name for each in session.facts.commands()] == ["skill:review"]
    await session.close()


async def test_the_command_line_may_name_a_package(tmp_path: Path) -> None:
    stage = Stage(tmp_path, environ={**ENVIRON, "PATH": os.environ["PATH"]})
    repository = Repository(tmp_path / "tips")
    (repository.folder / "extensions").mkdir()
    (repository.folder / "extensions" / "hello.py").write_text(CODE)
    repository.commit("skills/review/SKILL.md")
    folder = make_package(stage.home / "kit", "prompts/standup.md")
    paths = (repository.source, str(folder))

    session = await stage.open(extensions=ExtensionOptions(discover=False, paths=paths))

    assert [(info.name, info.rank) for info in session.extensions.infos()] == [
        ("hello", "explicit")
    ]
    assert sorted(each.name for each in session.facts.commands()) == ["skill:review", "standup"]
    assert not (stage.agent_dir / "settings.json").exists()
    await session.close()
