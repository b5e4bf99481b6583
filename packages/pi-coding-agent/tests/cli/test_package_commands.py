"""The context of the package commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pi.cli.subcommands.packages import PackageContext
from pi.coding.packages.source import InstallFailed, NoMatchingPackage
from pi.coding.runtime.machine import Machine
from tests.coding.packages.making import make_package


def host(tmp_path: Path) -> Machine:
    return Machine.from_environ({"HOME": str(tmp_path / "home")}, report=print)


def settings(folder: Path, *packages: str) -> None:
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(json.dumps({"packages": packages}))


async def test_packages_of_a_project_are_listed_only_if_it_is_trusted(tmp_path: Path) -> None:
    cwd = tmp_path / "site"
    settings(tmp_path / "home" / ".pi" / "agent", "../../../mine")
    settings(cwd / ".pi", "../../theirs")

    for approve, expected in ((None, ["mine"]), (True, ["theirs", "mine"])):
        kit = await PackageContext.open(host(tmp_path), cwd, approve=approve)
        assert [package.root.name for package in kit.configured()] == expected
        assert kit.may_change_project is (approve is True)


async def test_a_package_is_found_however_its_source_is_written(tmp_path: Path) -> None:
    settings(tmp_path / "home" / ".pi" / "agent", "../../../mine")
    kit = await PackageContext.open(host(tmp_path), tmp_path, approve=None)

    for text in ("./mine", str(tmp_path / "mine"), "../../../mine"):
        assert kit.find(text).root == tmp_path / "mine"
    with pytest.raises(NoMatchingPackage):
        kit.find("./other")


async def test_a_package_without_resources_for_pi_is_recognised(tmp_path: Path) -> None:
    make_package(tmp_path / "tips", "skills/a/SKILL.md")
    make_package(tmp_path / "code", "src/x.py")
    kit = await PackageContext.open(host(tmp_path), tmp_path, approve=None)

    assert kit.offers_anything("./tips", "user")
    assert not kit.offers_anything("./code", "user")


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        ("activate = 5", "Expected `array`, got `int` - at `$.activate`"),
        ('activate = ["sometimes"]', "Unknown trigger 'sometimes'"),
        (f'api = "{"9" * 6000}"', "Invalid version of the extension API"),
    ],
)
async def test_an_extension_that_the_next_start_would_skip_is_not_installed(
    tmp_path: Path, manifest: str, why: str
) -> None:
    make_package(tmp_path / "code", "extensions/e/__init__.py")
    (tmp_path / "code/extensions/e/pi.toml").write_text(manifest)
    kit = await PackageContext.open(host(tmp_path), tmp_path, approve=None)

    with pytest.raises(InstallFailed, match=re.escape(why)):
        await kit.store("user").install("./code", tmp_path)

    assert kit.store("user").entries() == ()
