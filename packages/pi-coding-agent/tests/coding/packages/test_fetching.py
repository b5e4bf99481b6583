from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.clock import SystemClock
from pi.base.records import replace
from pi.coding.packages.discovery import Layer
from pi.coding.packages.entries import PackageEntry
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import PackageLocation
from pi.coding.packages.staging import PREFIX
from pi.coding.runtime.packages_here import (
    PackageStores,
    fetch_missing,
    is_package,
    layer_for_one_run,
)
from tests.coding.packages.making import FakeNpm, Repository, make_package


@pytest.fixture
def stores(tmp_path: Path, programs: Programs) -> PackageStores:
    return PackageStores(
        agent_dir=tmp_path / "agent", cwd=tmp_path, programs=programs, clock=SystemClock()
    )


def layer(location: PackageLocation, *sources: str) -> Layer:
    return Layer(
        location=location, entries=tuple(PackageEntry(source=source) for source in sources)
    )


async def test_missing_packages_are_fetched_and_reported(
    stores: PackageStores, location: PackageLocation, npm: FakeNpm, repository: Repository
) -> None:
    npm.publish("tips", "1.0.0", "skills/a/SKILL.md")
    commit = repository.commit("skills/b/SKILL.md")
    layers = layer(location, "npm:tips", repository.source, "./nowhere", "npm:../bad")
    reported: list[str] = []

    await fetch_missing([layers], stores, reported.append)
    again: list[str] = []
    await fetch_missing([layers], stores, again.append)

    assert reported == [
        "Installing npm:tips...",
        "npm:tips installs tips 1.0.0",
        "Installed npm:tips",
        f"Installing {repository.source}...",
        f"{repository.source} installs file{repository.folder} {commit[:12]}",
        f"Installed {repository.source}",
    ]
    assert again == []


async def test_a_failed_fetch_does_not_stop_the_others(
    stores: PackageStores, location: PackageLocation, npm: FakeNpm, repository: Repository
) -> None:
    npm.break_down("npm error 404 Not Found\n")
    repository.commit("skills/b/SKILL.md")
    reported: list[str] = []

    await fetch_missing([layer(location, "npm:tips", repository.source)], stores, reported.append)

    assert reported[1].startswith(
        "Warning: npm:tips was not installed: npm view failed: 404 Not Found"
    )
    assert reported[-1] == f"Installed {repository.source}"
    assert not (location.npm / "node_modules" / "tips").exists()


async def test_offline_nothing_is_fetched(
    stores: PackageStores, location: PackageLocation, npm: FakeNpm
) -> None:
    offline = replace(stores, programs=replace(stores.programs, offline=True))

    await fetch_missing([layer(location, "npm:tips")], offline, pytest.fail)

    assert npm.calls() == []


async def test_a_folder_left_by_a_crash_is_restored_also_offline(
    stores: PackageStores, location: PackageLocation, npm: FakeNpm
) -> None:
    npm.publish("tips", "1.0.0", "skills/a/SKILL.md")
    layers = [layer(location, "npm:tips")]
    await fetch_missing(layers, stores, lambda text: None)
    crashed = location.base / f"{PREFIX}crashed"
    crashed.mkdir()
    (crashed / "target").write_text("npm")
    location.npm.replace(crashed / "old")
    offline = replace(stores, programs=replace(stores.programs, offline=True))

    await fetch_missing(layers, offline, pytest.fail)

    assert (location.npm / "node_modules" / "tips" / "skills" / "a" / "SKILL.md").is_file()
    assert not crashed.exists()


def test_files_and_folders_that_are_extensions_are_no_packages(tmp_path: Path) -> None:
    make_package(tmp_path / "tips", "extensions/x.py skills/a/SKILL.md")
    make_package(tmp_path / "module", "__init__.py skills/a/SKILL.md")
    make_package(tmp_path / "files", "x.py")
    named = ["npm:tips", "git:github.com/you/tips", "pypi:tips", "tips", "./tips"]
    others = ["module", "files", "files/x.py", "nowhere", "npm:../bad", ""]

    assert [text for text in [*named, *others] if is_package(text, tmp_path)] == named


def test_local_packages_of_the_command_line_are_stored_as_absolute_paths(tmp_path: Path) -> None:
    make_package(tmp_path / "tips", "skills/a/SKILL.md")
    location = PackageLocation(scope="temporary", base=tmp_path / "agent" / "temporary")

    run_layer = layer_for_one_run(["./tips", "npm:tips", "x.py"], tmp_path, location)

    assert run_layer == layer(location, str(tmp_path / "tips"), "npm:tips")
