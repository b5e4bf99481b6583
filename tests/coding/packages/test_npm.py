from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.packages.errors import InstallFailed
from pi.coding.packages.npm import bring, drop
from pi.coding.packages.outcome import Outcome
from pi.coding.packages.places import Shelf
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import NpmSource
from pi.coding.packages.staging import staging
from tests.coding.packages.making import FakeNpm, make_package, snapshot


async def brought(
    shelf: Shelf,
    programs: Programs,
    version: str = "",
    *,
    update: bool = False,
    force: bool = False,
) -> Outcome:
    source = NpmSource(name="@a/tips", version=version)
    with staging(shelf.base) as work:
        return await bring(source, shelf, programs, work, update=update, force=force)


async def test_a_package_is_installed_beside_those_that_are_there(
    npm: FakeNpm, shelf: Shelf, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.2.0", "skills/x/SKILL.md")
    make_package(shelf.npm, "node_modules/other/index.js node_modules/.bin/x")
    (shelf.npm / "package.json").write_text('{"dependencies": {"other": "^1"}, "x": 1}')

    assert await brought(shelf, programs) == Outcome(change="fetched", after="1.2.0")

    assert sorted(snapshot(shelf.npm)) == [
        "node_modules/.bin/x",
        "node_modules/@a/tips/package.json",
        "node_modules/@a/tips/skills/x/SKILL.md",
        "node_modules/other/index.js",
        "package.json",
    ]
    assert json.loads((shelf.npm / "package.json").read_text()) == {
        "dependencies": {"other": "^1", "@a/tips": "^1.2.0"},
        "x": 1,
    }
    assert await brought(shelf, programs) == Outcome(
        change="current", before="1.2.0", after="1.2.0"
    )


async def test_npm_runs_no_scripts_and_sees_little(
    npm: FakeNpm, shelf: Shelf, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    environ = {**programs.environ, "NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"}
    await brought(shelf, replace(programs, environ=environ))

    (viewing, _), (installing, seen) = npm.calls()

    assert viewing[0] == "view"
    assert installing[0] == "install"
    assert {"--ignore-scripts", "--legacy-peer-deps", "--no-audit"} <= set(installing)
    assert "SECRET_TOKEN" not in seen
    assert seen["NPM_CONFIG_REGISTRY"] == "http://127.0.0.1:9"


async def test_an_update_brings_the_latest_and_leaves_what_is_pinned(
    npm: FakeNpm, shelf: Shelf, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    await brought(shelf, programs)
    npm.publish("@a/tips", "1.1.0")

    assert await brought(shelf, programs, "1.0.0", update=True) == Outcome(
        change="pinned", before="1.0.0", after="1.0.0"
    )
    assert await brought(shelf, programs, "^1", update=True) == Outcome(
        change="pinned", before="1.0.0", after="1.0.0"
    )
    assert await brought(shelf, programs, update=True) == Outcome(
        change="fetched", before="1.0.0", after="1.1.0"
    )
    assert await brought(shelf, programs, "1.0.0", update=True) == Outcome(
        change="fetched", before="1.1.0", after="1.0.0"
    )


@pytest.mark.trap(276)
async def test_an_update_never_goes_back(npm: FakeNpm, shelf: Shelf, programs: Programs) -> None:
    npm.publish("@a/tips", "1.0.0")
    npm.publish("@a/tips", "2.0.0")
    await brought(shelf, programs)
    npm.withdraw("@a/tips", "2.0.0")

    assert await brought(shelf, programs, update=True, force=True) == Outcome(
        change="kept", before="2.0.0", after="2.0.0"
    )


async def test_a_broken_package_is_brought_anew(
    npm: FakeNpm, shelf: Shelf, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    await brought(shelf, programs)
    (shelf.npm / "node_modules" / "@a" / "tips" / "package.json").write_text("{half")

    assert await brought(shelf, programs, update=True) == Outcome(change="fetched", after="1.0.0")


async def test_a_failure_of_npm_leaves_everything(
    npm: FakeNpm, shelf: Shelf, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    await brought(shelf, programs)
    before = snapshot(shelf.base)
    npm.publish("@a/tips", "2.0.0")
    npm.break_down("npm error code E404\nnpm error 404 https://u:p@h.dev/x\nsee the log\n")

    with pytest.raises(InstallFailed) as caught:
        await brought(shelf, programs, "2.0.0")

    assert caught.value.message == "npm install failed: code E404; 404 https://h.dev/x"
    assert snapshot(shelf.base) == before


async def test_a_machine_without_npm_is_told_what_to_do(shelf: Shelf, programs: Programs) -> None:
    with pytest.raises(InstallFailed) as caught:
        await brought(shelf, replace(programs, npm_command=("no-such-npm",)))

    assert caught.value.explain() == (
        "Packages of npm are fetched with no-such-npm, which was not found. "
        "Install Node.js, or name the program as `npmCommand` in the settings."
    )


async def test_offline_npm_is_told_so(npm: FakeNpm, shelf: Shelf, programs: Programs) -> None:
    npm.publish("@a/tips", "1.0.0")

    await brought(shelf, replace(programs, offline=True))

    assert all("--offline" in words for words, _ in npm.calls())


async def test_a_package_is_removed_and_others_stay(
    npm: FakeNpm, shelf: Shelf, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    make_package(shelf.npm, "node_modules/other/index.js")
    await brought(shelf, programs)

    for _ in range(2):
        with staging(shelf.base) as work:
            await drop(NpmSource(name="@a/tips"), shelf, programs, work)

    assert sorted(snapshot(shelf.npm)) == ["node_modules/other/index.js", "package.json"]
    assert [words[0] for words, _ in npm.calls()] == ["view", "install", "uninstall"]


@pytest.mark.trap(276)
async def test_nothing_is_installed_through_a_link_that_leads_out(
    npm: FakeNpm, shelf: Shelf, programs: Programs, tmp_path: Path
) -> None:
    npm.publish("@a/tips", "1.0.0")
    shelf.base.mkdir()
    shelf.npm.symlink_to(make_package(tmp_path / "outside", "x.txt"))

    with pytest.raises(InstallFailed, match="leads elsewhere"):
        await brought(shelf, programs)

    assert snapshot(tmp_path / "outside") == {"x.txt": "{}\n"}
