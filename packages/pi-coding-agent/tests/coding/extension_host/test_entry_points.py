from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import msgspec
import pytest

from pi.coding.extension_host.discovery.entry_points import FILE, installed
from pi.coding.extension_host.discovery.manifest import Manifest
from pi.coding.extension_host.errors import ExtensionError

POINT = "[pi.extensions]\nweather = weather_kit:extension\n"


def install(folder: Path, name: str = "weather_kit", points: str = POINT) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def test_extensions_of_distributions_are_found(tmp_path: Path) -> None:
    install(tmp_path / "lib")
    install(tmp_path / "lib", "pi_harness", "[pi.extensions]\ntodo = pi.batteries.todo:extension\n")

    candidates = installed(tmp_path, [str(tmp_path / "lib")])

    assert sorted(
        (candidate.name, candidate.rank, candidate.target) for candidate in candidates
    ) == [
        ("todo", "bundled", "pi.batteries.todo:extension"),
        ("weather", "package", "weather_kit:extension"),
    ]
    bundled = next(candidate for candidate in candidates if candidate.rank == "bundled")
    assert msgspec.to_builtins(bundled.source) == {
        "path": "builtin:todo",
        "source": "builtin",
        "scope": "temporary",
        "origin": "top-level",
    }


def test_the_index_is_used_until_a_folder_changes(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    install(folder)
    installed(tmp_path, [str(folder)])
    index = msgspec.json.decode((tmp_path / FILE).read_bytes())
    index["entries"][0]["name"] = "remembered"
    (tmp_path / FILE).write_bytes(msgspec.json.encode(index))

    assert [candidate.name for candidate in installed(tmp_path, [str(folder)])] == ["remembered"]

    install(folder, "another")
    assert {candidate.name for candidate in installed(tmp_path, [str(folder)])} == {"weather"}


MANIFEST = 'activate = ["command:weather"]\ncommands = { weather = "show the weather" }\n'


def test_the_manifest_beside_a_module_is_found_also_with_the_index(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    install(folder, points="[pi.extensions]\nweather = kit.weather.adapters.pi:extension\n")
    package = folder / "kit" / "weather"
    (package / "adapters").mkdir(parents=True)
    (package / "pi.toml").write_text(MANIFEST)

    (first,) = installed(tmp_path, [str(folder)])
    (second,) = installed(tmp_path, [str(folder)])

    assert first == second
    assert first.declared() == Manifest(
        activate=("command:weather",), commands={"weather": "show the weather"}
    )


def test_a_manifest_that_changes_is_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    install(folder)
    module = folder / "weather_kit.py"
    module.write_text("# /// pi\n# name = 'sun'\n# ///\n")
    (before,) = installed(tmp_path, [str(folder)])

    module.write_text("# /// pi\n# name = 3\n# ///\n")
    os.utime(module, (1, 1))
    (after,) = installed(tmp_path, [str(folder)])

    assert before.declared().name == "sun"
    with pytest.raises(ExtensionError, match="is invalid"):
        after.declared()


DEEP = pytest.param(b'{"a":' * 100_000, id="nested too deeply")


def test_an_entry_point_with_a_missing_module_has_an_empty_manifest(tmp_path: Path) -> None:
    install(tmp_path / "lib")

    (candidate,) = installed(tmp_path, [str(tmp_path / "lib")])

    assert (candidate.target, candidate.declared()) == ("weather_kit:extension", Manifest())


@pytest.mark.parametrize("damage", [b"{", b'{"a": "\xff"}', DEEP])
def test_a_damaged_index_is_rebuilt(tmp_path: Path, damage: bytes) -> None:
    install(tmp_path / "lib")
    (tmp_path / FILE).write_bytes(damage)

    assert [candidate.name for candidate in installed(tmp_path, [str(tmp_path / "lib")])] == [
        "weather"
    ]


def test_no_folder_is_made_for_the_index(tmp_path: Path) -> None:
    installed(tmp_path / "agent", [])

    assert not (tmp_path / "agent").exists()


def test_installed_extensions_are_not_searched_in_the_project(tmp_path: Path) -> None:
    install(tmp_path)
    (tmp_path / "agent").mkdir()
    code = (
        "import pathlib, sys\n"
        "from pi.coding.extension_host.discovery.entry_points import installed\n"
        "sys.path[:0] = [str(pathlib.Path.cwd()), '', '.']\n"
        "print([each.name for each in installed(pathlib.Path('agent')) if each.rank != 'bundled'])"
    )

    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert finished.stdout == "[]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be removed there")
def test_a_replaced_working_directory_is_not_searched(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    project.mkdir()
    install(other)
    code = (
        "import pathlib, sys\n"
        "from pi.coding.extension_host.discovery.entry_points import installed\n"
        "project, other = sys.argv[1:]\n"
        "pathlib.Path(project).rmdir()\n"
        "pathlib.Path(other).rename(project)\n"
        "sys.path.insert(0, project)\n"
        "found = installed(pathlib.Path('/nowhere'))\n"
        "print([each.name for each in found if each.rank != 'bundled'])"
    )

    finished = subprocess.run(
        [sys.executable, "-c", code, str(project), str(other)],
        capture_output=True,
        text=True,
        check=True,
        cwd=project,
    )

    assert finished.stdout == "[]\n"


def test_entry_points_match_those_of_importlib_metadata(tmp_path: Path) -> None:
    lib = tmp_path / "lib"
    points = (
        "# written by hand\n[console_scripts]\nkit = weather_kit:main\n\n"
        "[pi.extensions]\n  rain=weather_kit.rain:extension\n"
        "#snow = weather_kit:snow\nsun = weather_kit : sun [more]\n[other]\nx = y:z\n"
    )
    install(lib, points=points)
    install(lib, "no_points", "")
    (lib / "old.egg-info").mkdir()
    (lib / "old.egg-info" / "PKG-INFO").write_text("Name: old\n\nName: not this\n")
    (lib / "old.egg-info" / "entry_points.txt").write_text("[pi.extensions]\nold = old:extension")
    (lib / "older-1.0.egg-info").write_text("Name: older\n")
    (tmp_path / "archive.zip").write_bytes(b"PK")
    path = [str(lib), str(tmp_path / "archive.zip"), str(tmp_path / "missing"), *sys.path]

    candidates = installed(tmp_path, path)

    expected = {
        (point.name, point.value)
        for distribution in distributions(path=path)
        for point in distribution.entry_points
        if point.group == "pi.extensions"
    }
    names = {candidate.target: candidate.source.source for candidate in candidates}
    assert {(candidate.name, candidate.target) for candidate in candidates} == expected
    assert names["old:extension"] == "old"
    assert names["weather_kit.rain:extension"] == "weather_kit"
