"""The maps: ARCHITECTURE.md names the distributions, and the README of each its packages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.workspace import ROOT, sources

NAME = re.compile(r"\[`(pi(?:\.[a-z_0-9]+)+)`\]\(([^)]+)\)")
FILE = re.compile(r"`([a-z_/]+/[a-z_]+\.py)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
MEMBERS = sorted(pyproject.parent for pyproject in ROOT.glob("*/*/pyproject.toml"))


def packages_to_name(source: Path) -> set[str]:
    """Return the packages that a README names: those directly below a layer, and each battery."""
    names = {
        ".".join(init.parent.relative_to(source).parts) for init in source.rglob("__init__.py")
    }
    return {name for name in names if name.count(".") == 2}


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_a_readme_names_each_package_of_its_distribution(member: Path) -> None:
    named = dict(NAME.findall((member / "README.md").read_text(encoding="utf-8")))

    assert packages_to_name(member / "src") <= named.keys()
    for name, target in named.items():
        assert target.removesuffix(".py") == f"src/{name.replace('.', '/')}"
        assert (member / target).exists()


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_links_of_a_readme_have_a_target(member: Path) -> None:
    targets = LINK.findall((member / "README.md").read_text(encoding="utf-8"))

    assert [target for target in targets if not (member / target).exists()] == []


def test_the_architecture_page_names_every_package_folder() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

    packages = [member.name for member in MEMBERS if member.parent.name == "packages"]
    assert [name for name in packages if f"{name}`" not in page] == []


def test_every_file_named_in_the_architecture_page_exists() -> None:
    named = FILE.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    folders = (ROOT, *(source / "pi" for source in sources(ROOT)))

    assert named
    assert [
        file for file in named if not any((folder / file).is_file() for folder in folders)
    ] == []
