from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

from pi.coding.extension_host.entry_points import FILE, installed

POINT = "[pi.extensions]\nweather = weather_kit:extension\n"


def install(folder: Path, name: str = "weather_kit", points: str = POINT) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


def test_extensions_of_distributions_are_found(tmp_path: Path) -> None:
    install(tmp_path / "lib")
    install(tmp_path / "lib", "pi_harness", "[pi.extensions]\ntodo = pi.batteries.todo:extension\n")

    found = installed(tmp_path, [str(tmp_path / "lib")])

    assert sorted((each.name, each.rank, each.target) for each in found) == [
        ("todo", "bundled", "pi.batteries.todo:extension"),
        ("weather", "package", "weather_kit:extension"),
    ]


def test_what_was_found_is_kept_until_a_folder_changes(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    install(folder)
    installed(tmp_path, [str(folder)])
    index = msgspec.json.decode((tmp_path / FILE).read_bytes())
    index["entries"][0]["name"] = "remembered"
    (tmp_path / FILE).write_bytes(msgspec.json.encode(index))

    assert [each.name for each in installed(tmp_path, [str(folder)])] == ["remembered"]

    install(folder, "another")
    assert {each.name for each in installed(tmp_path, [str(folder)])} == {"weather"}


def test_an_index_that_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    install(tmp_path / "lib")
    (tmp_path / FILE).write_text("{")

    assert [each.name for each in installed(tmp_path, [str(tmp_path / "lib")])] == ["weather"]


def test_no_folder_is_made_for_the_index(tmp_path: Path) -> None:
    installed(tmp_path / "agent", [])

    assert not (tmp_path / "agent").exists()


def test_metadata_is_not_imported_when_nothing_has_changed(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from pi.coding.extension_host.entry_points import installed\n"
        f"installed(pathlib.Path({str(tmp_path)!r}))\n"
        "print('importlib.metadata' in sys.modules)\n"
    )

    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]

    assert [each.stdout.strip() for each in told] == ["True", "False"]
