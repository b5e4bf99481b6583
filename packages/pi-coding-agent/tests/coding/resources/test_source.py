"""Where a resource comes from, in the names of the protocol."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pi.coding.resources.sources import Place, named_places


def test_a_source_has_the_json_form_of_rpc(tmp_path: Path) -> None:
    info = Place(path=tmp_path, scope="project").info(tmp_path / "x.md")

    assert msgspec.to_builtins(info) == {
        "path": str(tmp_path / "x.md"),
        "source": "auto",
        "scope": "project",
        "origin": "top-level",
        "baseDir": str(tmp_path),
    }


def test_paths_of_the_command_line_are_relative_to_the_working_directory() -> None:
    named = named_places(["skills", "/else/where"], Path("/home/ada/project"))

    assert named == [
        Place(path=Path("/home/ada/project/skills"), source="cli", scope="temporary"),
        Place(path=Path("/else/where"), source="cli", scope="temporary"),
    ]
