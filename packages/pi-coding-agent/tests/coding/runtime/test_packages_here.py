from __future__ import annotations

import json
import os
from pathlib import Path

from pi.coding.extension_host.discovery.finding import ExtensionOptions
from tests.coding.packages.making import Repository, make_package
from tests.coding.runtime.session_fixture import ENVIRON, SessionFixture

CODE = "def extension(pi): ...\n"


def reported(fixture: SessionFixture) -> list[str]:
    return [text for text in fixture.reports if text.startswith("Install")]


async def test_a_missing_package_of_a_trusted_project_is_installed(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, environ={**ENVIRON, "PATH": os.environ["PATH"]})
    repository = Repository(tmp_path / "tips")
    (repository.folder / "extensions").mkdir()
    (repository.folder / "extensions" / "hello.py").write_text(CODE)
    repository.commit("skills/review/SKILL.md")
    fixture.write("project/.pi/settings.json", json.dumps({"packages": [repository.source]}))

    untrusted = await fixture.open(approve=False)
    await untrusted.close()
    assert reported(fixture) == []

    session = await fixture.open(approve=True)
    assert reported(fixture) == [
        f"Installing {repository.source}...",
        f"Installed {repository.source}",
    ]
    assert [(info.name, info.rank) for info in session.extensions.infos()] == [("hello", "package")]
    assert [command.name for command in session.info.commands()] == ["skill:review"]
    await session.close()


async def test_a_package_of_the_command_line_is_loaded_without_changing_settings(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path, environ={**ENVIRON, "PATH": os.environ["PATH"]})
    repository = Repository(tmp_path / "tips")
    (repository.folder / "extensions").mkdir()
    (repository.folder / "extensions" / "hello.py").write_text(CODE)
    repository.commit("skills/review/SKILL.md")
    folder = make_package(fixture.home / "kit", "prompts/standup.md")
    paths = (repository.source, str(folder))

    session = await fixture.open(extensions=ExtensionOptions(discover=False, paths=paths))

    assert [(info.name, info.rank) for info in session.extensions.infos()] == [
        ("hello", "explicit")
    ]
    assert sorted(command.name for command in session.info.commands()) == [
        "skill:review",
        "standup",
    ]
    assert not (fixture.agent_dir / "settings.json").exists()
    await session.close()
