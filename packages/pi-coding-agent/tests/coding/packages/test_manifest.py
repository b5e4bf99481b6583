from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.packages.contents import read_object, read_package_manifest

BROKEN = "; the folders of its package are used"


def test_without_a_manifest_nothing_is_declared(tmp_path: Path) -> None:
    assert read_package_manifest(tmp_path, pytest.fail) is None

    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert read_package_manifest(tmp_path, pytest.fail) is None


def test_an_empty_declaration_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"pi": {"image": "x.png"}}')

    assert read_package_manifest(tmp_path, pytest.fail) == {}


def test_pyproject_overrides_package_json_for_each_kind(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(
        '\ufeff{"pi": {"extensions": ["src/x.ts"], "skills": ["skills"]}}',
        encoding="utf-8",
    )
    (tmp_path / "pyproject.toml").write_text('[tool.pi]\nextensions = ["src/x.py"]\n')

    assert read_package_manifest(tmp_path, pytest.fail) == {
        "extensions": ("src/x.py",),
        "skills": ("skills",),
    }


@pytest.mark.parametrize("value", ["skills", 3, ["skills", 3], {"a": "b"}, None])
def test_a_kind_that_is_not_a_list_of_paths_is_a_warning(tmp_path: Path, value: object) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"pi": {"skills": value}}))
    warnings: list[str] = []

    read_package_manifest(tmp_path, warnings.append)

    assert warnings == [f'{tmp_path / "package.json"}: "skills" must be a list of paths']


@pytest.mark.parametrize("value", ["skills", 3, ["skills"]])
def test_a_declaration_that_is_not_an_object_is_a_warning(tmp_path: Path, value: object) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"pi": value}))
    warnings: list[str] = []

    assert read_package_manifest(tmp_path, warnings.append) is None
    assert warnings == [f'{tmp_path / "package.json"}: "pi" must be an object']


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package.json", "{"),
        ("package.json", "[1]"),
        ("pyproject.toml", "[tool"),
        pytest.param("package.json", '{"a":' * 100_000, id="nested too deeply"),
        pytest.param("pi.toml", "a = " + "[" * 10_000, id="TOML nested too deeply"),
        pytest.param("pi.toml", "a." * 200_000 + "b = 1", id="a key of many parts"),
        pytest.param("pi.toml", f"[{'a . ' * 200_000}b]", id="a table of many parts"),
        pytest.param("pi.toml", "a = " + "1" * 5000, id="a number of many digits"),
    ],
)
def test_a_broken_file_is_a_warning(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    warnings: list[str] = []

    assert read_package_manifest(tmp_path, warnings.append) is None
    (warning,) = warnings
    assert warning.startswith(f"{tmp_path / name} cannot be read: ")
    assert warning.endswith(BROKEN)


@pytest.mark.behaviour("package-installs-are-contained")
def test_a_manifest_outside_the_package_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "pk").mkdir()
    (tmp_path / "elsewhere.json").write_text('{"pi": {"skills": ["x"]}}')
    (tmp_path / "pk" / "package.json").symlink_to("../elsewhere.json")

    warnings: list[str] = []
    assert read_package_manifest(tmp_path / "pk", warnings.append) is None
    (warning,) = warnings
    assert warning.endswith("package.json is a link that leads out of its package and is not used")


def test_a_json_file_must_hold_an_object(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("7")

    assert read_object(tmp_path / "missing.json") == {}
    with pytest.raises(PiError, match="cannot be read"):
        read_object(tmp_path / "x.json")
