from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.packages.discovery import Layer, find_packages
from pi.coding.packages.indexes import RECORD, declared_needs
from pi.coding.packages.source import InstallFailed, LocalSource, PackageLocation
from pi.coding.packages.store import PackageStore
from tests.coding.packages.conftest import MakeStore
from tests.coding.packages.making import Repository, make_package, make_wheel, snapshot


def project(*needs: str) -> str:
    return f'[project]\nname = "tips"\nversion = "1"\ndependencies = {list(needs)!r}\n'


def import_roots(store: PackageStore) -> list[Path | None]:
    layer = Layer(location=store.location, entries=store.entries())
    return [package.import_root for package in find_packages([layer]).packages]


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        (project("one", "two>=2; python_version > '3'"), ("one", "two>=2; python_version > '3'")),
        ("[project]\nname = 'x'\n", ()),
        ("[tool.pi]\n", ()),
    ],
)
def test_the_dependencies_of_a_project_are_read(
    tmp_path: Path, text: str, needs: tuple[str, ...]
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    assert declared_needs(tmp_path, "tips") == needs


@pytest.mark.parametrize("text", [project("x @ git+https://example.org/x"), "[project"])
def test_unsupported_dependencies_and_an_invalid_project_file_are_rejected(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    with pytest.raises(InstallFailed):
        declared_needs(tmp_path, "tips")


@pytest.mark.full
@pytest.mark.slow
async def test_dependencies_of_a_repository_are_installed_and_kept_until_they_change(
    store: PackageStore, repository: Repository, wheelhouse: Path, tmp_path: Path
) -> None:
    make_wheel(wheelhouse, "pi-inner", "1.0")
    (repository.folder / "pyproject.toml").write_text(project("msgspec", "pi-inner"))
    repository.commit("extensions/x.py")
    await store.install(repository.source, tmp_path)
    (root,) = import_roots(store)
    assert root is not None
    assert (root / "pi_inner" / "__init__.py").read_text() == "VERSION = '1.0'\n"
    before = snapshot(store.location.base)

    (repository.folder / "pyproject.toml").write_text(project("pi-nowhere"))
    repository.commit("extensions/y.py")
    with pytest.raises(InstallFailed, match="pip install failed"):
        await store.install(repository.source, tmp_path)
    assert snapshot(store.location.base) == before

    (repository.folder / "pyproject.toml").write_text(project("msgspec"))
    repository.commit("extensions/z.py")
    await store.install(repository.source, tmp_path)
    assert import_roots(store) == [None]


@pytest.mark.full
@pytest.mark.slow
async def test_requirements_of_a_folder_used_in_place_are_installed_outside(
    make_store: MakeStore, wheelhouse: Path, tmp_path: Path
) -> None:
    store = make_store("project")
    make_wheel(wheelhouse, "pi-inner", "1.0")
    tips = make_package(tmp_path / "tips", "extensions/x.py")
    (tips / "pyproject.toml").write_text(project("pi-inner"))
    before = snapshot(tips)

    await store.install(str(tips), tmp_path)
    (root,) = import_roots(store)
    assert root == store.location.needs(LocalSource(path=tips))
    assert root.is_relative_to(store.location.base) and (root / RECORD).is_file()
    assert (root.parent / ".gitignore").read_text() == "*\n"
    assert snapshot(tips) == before

    await store.remove(str(tips), tmp_path, pytest.fail)
    assert not root.exists()


def test_two_folders_with_one_name_have_separate_dependency_folders(tmp_path: Path) -> None:
    location = PackageLocation(scope="user", base=tmp_path)

    one, two = (location.needs(LocalSource(path=tmp_path / parent / "tips")) for parent in "ab")

    assert one != two and one.name.startswith("tips-")
