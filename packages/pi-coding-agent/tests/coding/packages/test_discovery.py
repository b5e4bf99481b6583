from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.packages.discovery import Layer, find_packages, require_usable
from pi.coding.packages.entries import KINDS, read_entries
from pi.coding.packages.source import InstallFailed, LocalSource, PackageLocation, PypiSource
from pi.coding.resources.discovery import (
    ResourceLists,
    ResourceOptions,
    Resources,
    ResourceSearch,
    discover,
)
from pi.coding.resources.sources import Place, Scope
from tests.coding.packages.making import make_package


def layer(scope: Scope, base: Path, *entries: object) -> Layer:
    location = PackageLocation(scope=scope, base=base)
    return Layer(location=location, entries=tuple(read_entries(list(entries))))


def test_resources_of_a_package_are_found_with_their_origin(tmp_path: Path) -> None:
    root = make_package(
        tmp_path / "agent" / "npm" / "node_modules" / "tips",
        "skills/a/SKILL.md prompts/p.md themes/t.json extensions/x/__init__.py extensions/y.ts",
    )

    discovered = find_packages([layer("user", tmp_path / "agent", "npm:tips@1")])

    def place(name: str) -> tuple[Place]:
        return (Place(path=root / name, source="npm:tips@1", scope="user", origin="package"),)

    assert discovered.places("skills") == place("skills/a/SKILL.md")
    assert discovered.places("prompts") == place("prompts/p.md")
    assert discovered.places("themes") == place("themes/t.json")
    assert discovered.places("extensions") == place("extensions/x")
    (package,) = discovered.packages
    assert (package.foreign, package.import_root) == (("extensions/y.ts",), None)
    assert (discovered.missing, discovered.warnings) == ((), ())


def test_an_entry_of_the_project_replaces_that_of_the_user(tmp_path: Path) -> None:
    make_package(tmp_path / "agent/git/h.dev/o/r", "skills/user/SKILL.md")
    make_package(tmp_path / "site/.pi/git/h.dev/o/r", "skills/project/SKILL.md")

    discovered = find_packages(
        [
            layer("project", tmp_path / "site" / ".pi", "git:h.dev/o/r@v2"),
            layer("user", tmp_path / "agent", "ssh://git@h.dev/o/r"),
        ]
    )

    assert [(place.path.parent.name, place.scope) for place in discovered.places("skills")] == [
        ("project", "project")
    ]


def test_without_autoload_a_project_modifies_the_selection_of_the_user(tmp_path: Path) -> None:
    make_package(tmp_path / "pk", "skills/a.md skills/b.md prompts/p.md prompts/q.md")
    own = {"source": "../pk", "skills": ["skills/a.md"]}
    delta = {
        "source": "../../pk",
        "autoload": False,
        "skills": ["+skills/b.md"],
        "prompts": ["!prompts/q.md"],
    }

    discovered = find_packages(
        [
            layer("project", tmp_path / "site" / ".pi", delta),
            layer("user", tmp_path / "agent", own),
        ]
    )

    (package,) = discovered.packages
    assert package.configured.scope == "user"
    assert package.chosen == {
        "skills": ("skills/a.md", "skills/b.md"),
        "prompts": ("prompts/p.md",),
    }


def test_without_autoload_and_a_user_entry_only_filtered_resources_are_used(tmp_path: Path) -> None:
    make_package(tmp_path / "pk", "skills/a.md skills/b.md prompts/p.md")
    entry = {"source": "../pk", "autoload": False, "skills": ["skills/b.md"]}

    discovered = find_packages([layer("user", tmp_path / "agent", entry)])

    assert discovered.packages[0].chosen == {"skills": ("skills/b.md",)}


def test_filters_never_extend_the_manifest(tmp_path: Path) -> None:
    make_package(tmp_path / "pk", "skills/a.md hidden/h.md", manifest={"skills": ["skills/a.md"]})
    entry = {"source": "../pk", "skills": ["**", "+hidden/h.md", "../**"]}

    discovered = find_packages([layer("user", tmp_path / "agent", entry)])

    assert discovered.packages[0].chosen == {"skills": ("skills/a.md",)}


def test_a_missing_package_is_a_warning(tmp_path: Path) -> None:
    make_package(tmp_path / "pk", "skills/a.md")

    discovered = find_packages(
        [layer("user", tmp_path / "agent", "npm:tips", "npm:../x", "../gone", "../pk", "../pk")]
    )

    assert len(discovered.packages) == 1
    assert [missing.entry.source for missing in discovered.missing] == ["npm:tips", "../gone"]
    assert [warning.split(":")[0] for warning in discovered.warnings] == [
        'Cannot understand the package source "npm',
        "Package npm",
        "Package ../gone does not exist",
    ]


@pytest.mark.behaviour("package-installs-are-contained")
def test_an_installed_package_outside_its_location_is_rejected(tmp_path: Path) -> None:
    make_package(tmp_path / "outside", "skills/a.md")
    target = tmp_path / "site" / ".pi" / "git" / "h.dev" / "o" / "r"
    target.parent.mkdir(parents=True)
    target.symlink_to(tmp_path / "outside")

    discovered = find_packages([layer("project", tmp_path / "site" / ".pi", "git:h.dev/o/r")])

    assert discovered.packages == ()
    assert discovered.warnings == (
        f"{target} is a link that leads out of {tmp_path}/site/.pi and is not used",
    )


def test_a_folder_without_its_distribution_is_a_warning(tmp_path: Path) -> None:
    make_package(tmp_path / "agent" / "pypi" / "tips", "other/skills/a.md")

    discovered = find_packages([layer("user", tmp_path / "agent", "pypi:tips")])

    assert discovered.places("skills") == ()
    assert discovered.warnings == (
        f"{tmp_path}/agent/pypi/tips does not hold tips; install it again",
    )


def test_a_distribution_offers_its_own_folders_and_entry_points(tmp_path: Path) -> None:
    root = make_package(
        tmp_path / "agent" / "pypi" / "tips",
        "tips/skills/a/SKILL.md tips/ext.py tips/extensions/e.py dep/skills/d/SKILL.md",
        "tips-1.0.dist-info/METADATA",
    )
    (root / "tips-1.0.dist-info" / "RECORD").write_text("tips/ext.py,,\ntips-1.0.dist-info/x,,\n")
    (root / "tips-1.0.dist-info" / "entry_points.txt").write_text(
        "[pi.extensions]\na = tips.ext:extension\nb = elsewhere\n"
    )

    (package,) = find_packages([layer("user", tmp_path / "agent", "pypi:tips")]).packages

    assert package.offered == {
        "skills": ("tips/skills/a/SKILL.md",),
        "extensions": ("tips/extensions/e.py", "tips/ext.py"),
    }
    assert package.import_root == root


@pytest.mark.behaviour("resource-precedence")
def test_a_skill_of_the_user_hides_one_of_a_package_and_the_command_line_hides_both(
    tmp_path: Path,
) -> None:
    make_package(tmp_path / "agent", "skills/a/SKILL.md prompts/p.md")
    make_package(tmp_path / "pk", "skills/a/SKILL.md skills/b/SKILL.md prompts/p.md")
    make_package(tmp_path / "cli", "a/SKILL.md")
    packages = find_packages([layer("user", tmp_path / "agent", "../pk")])

    def discover_with(options: ResourceOptions) -> Resources:
        base = tmp_path / "agent"
        search = ResourceSearch(
            cwd=tmp_path,
            agent_dir=base,
            home=tmp_path,
            trusted=False,
            trusts=lambda folder: False,
            user=ResourceLists(base=base),
            project=ResourceLists(base=base),
            extra=packages.places("skills"),
            extra_prompts=packages.places("prompts"),
        )
        return discover(options, search)

    usual = discover_with(ResourceOptions())
    assert [
        (found_skill.skill.name, found_skill.source.origin) for found_skill in usual.skills
    ] == [
        ("a", "top-level"),
        ("b", "package"),
    ]
    assert [template.source.origin for template in usual.prompts] == ["top-level"]
    explicit = discover_with(ResourceOptions(skill_paths=(str(tmp_path / "cli"),)))
    assert [
        (found_skill.skill.name, found_skill.source.source) for found_skill in explicit.skills
    ] == [
        ("a", "cli"),
        ("b", "../pk"),
    ]


ODD = [
    "/etc/passwd",
    "../x",
    "a/../../x",
    "x" * 300,
    "*" + "x" * 300,
    "a/" * 3000,
    "a\0b",
    "\x1bx",
    3,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", [*ODD, *(f"!{each}" for each in ODD[:-1])])
def test_an_invalid_path_is_rejected_at_install_and_is_one_warning_at_start(
    tmp_path: Path, kind: str, odd: object
) -> None:
    root = make_package(tmp_path / "pk", "skills/a/SKILL.md", manifest={kind: [odd, odd]})

    with pytest.raises(InstallFailed, match=f"{root} is not a usable package: "):
        require_usable(LocalSource(path=root), root)
    discovered = find_packages([layer("user", tmp_path / "agent", "../pk")])

    assert len(discovered.warnings) == 1
    assert discovered.places(kind) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("point", ["/etc/passwd:x", "x" * 300, "../../x", "a\0b:c", "a b"])
def test_an_invalid_entry_point_is_rejected_at_install_and_is_one_warning_at_start(
    tmp_path: Path, point: str
) -> None:
    root = tmp_path / "agent" / "pypi" / "tips"
    metadata = root / "tips-1.dist-info"
    make_package(root / "tips", "skills/a/SKILL.md")
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(f"[pi.extensions]\nx = {point}\n")
    long, nul = "y" * 300 + "/a,,\n", "\0/a,,\n"
    (metadata / "RECORD").write_text(f"tips/__init__.py,,\n{long}{nul}/etc/x,,\n../../x,,\n")

    with pytest.raises(InstallFailed, match=r"is not a usable package: .* is not module:function"):
        require_usable(PypiSource(name="tips"), root)
    discovered = find_packages([layer("user", tmp_path / "agent", "pypi:tips")])

    (warning,) = discovered.warnings
    assert "is not module:function" in warning
    assert [place.path.name for place in discovered.places("skills")] == ["SKILL.md"]
    assert discovered.packages[0].functions == {}


@pytest.mark.parametrize(
    "source",
    ["npm:" + "x" * 300, "pypi:" + "x" * 300, "git:h.dev/o/" + "x" * 300, "./" + "x" * 300],
)
def test_a_source_whose_name_is_too_long_is_one_warning(tmp_path: Path, source: str) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md")

    discovered = find_packages([layer("user", tmp_path / "agent", source, "../pk")])

    (warning,) = discovered.warnings
    assert warning.endswith("it is too long for the name of a folder.")
    assert len(discovered.places("skills")) == 1


def test_a_package_that_cannot_be_read_is_skipped_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md")

    def fail(root: Path, warn: object) -> None:
        raise OSError("the disk is on fire")

    monkeypatch.setattr("pi.coding.packages.discovery.contents_of", fail)
    discovered = find_packages([layer("user", tmp_path / "agent", "../pk")])

    assert discovered.warnings == ("Package ../pk is not used: the disk is on fire",)
    assert discovered.places("skills") == ()
