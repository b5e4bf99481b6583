from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.packages.contents import Offered, contents_of, extension_files
from tests.coding.packages.making import make_package


def offered(root: Path) -> tuple[Offered, list[str]]:
    warnings: list[str] = []
    return contents_of(root, warnings.append), warnings


def test_without_a_manifest_the_standard_folders_are_used(tmp_path: Path) -> None:
    make_package(
        tmp_path,
        "extensions/a.py extensions/b/__init__.py extensions/c.ts extensions/d/index.ts",
        "extensions/e.mjs extensions/f/deep/__init__.py extensions/_g.py extensions/h.d.ts",
        "skills/one/SKILL.md skills/one/more.md skills/two.md skills/node_modules/x/SKILL.md",
        "prompts/p.md prompts/inner/q.md themes/t.json themes/readme.txt src/x.py",
    )

    assert offered(tmp_path) == (
        {
            "extensions": (
                "extensions/a.py",
                "extensions/b/__init__.py",
                "extensions/c.ts",
                "extensions/d/index.ts",
            ),
            "skills": ("skills/two.md", "skills/one/SKILL.md"),
            "prompts": ("prompts/p.md",),
            "themes": ("themes/t.json",),
        },
        [],
    )


def test_a_manifest_replaces_the_standard_folders(tmp_path: Path) -> None:
    make_package(
        tmp_path,
        "src/one.py src/two.py src/old.py lib/three/__init__.py extensions/unsaid.py",
        "know/how/SKILL.md know/why.md skills/unsaid/SKILL.md talk/a.md talk/b.md",
        manifest={
            "extensions": ["./src/*.py", "lib/three", "!./src/old.py", "src/missing.py"],
            "skills": ["know"],
            "prompts": ["talk/{a,b}.md", "!talk/b.md"],
        },
    )

    assert offered(tmp_path) == (
        {
            "extensions": ("src/one.py", "src/two.py", "lib/three/__init__.py"),
            "skills": ("know/why.md", "know/how/SKILL.md"),
            "prompts": ("talk/a.md",),
        },
        [],
    )


def test_a_pattern_finds_skills_at_any_depth(tmp_path: Path) -> None:
    make_package(
        tmp_path,
        "a/b/SKILL.md c/SKILL.md node_modules/d/SKILL.md",
        manifest={"skills": ["**/SKILL.md"]},
    )

    assert offered(tmp_path)[0] == {"skills": ("a/b/SKILL.md", "c/SKILL.md")}


def test_a_bundled_dependency_can_be_listed(tmp_path: Path) -> None:
    make_package(
        tmp_path, "node_modules/d/skills/x/SKILL.md", manifest={"skills": ["node_modules/d/skills"]}
    )

    assert offered(tmp_path)[0] == {"skills": ("node_modules/d/skills/x/SKILL.md",)}


def test_a_file_is_one_extension(tmp_path: Path) -> None:
    make_package(tmp_path, "mine.py")

    assert offered(tmp_path / "mine.py") == ({"extensions": ("mine.py",)}, [])


def test_a_subfolder_may_list_its_extensions_itself(tmp_path: Path) -> None:
    make_package(tmp_path / "x", "main.py side.py", manifest={"extensions": ["main.py", "."]})
    make_package(tmp_path / "y", "helper.py")

    assert list(extension_files(tmp_path, pytest.fail)) == [tmp_path / "x" / "main.py"]


@pytest.mark.behaviour("package-installs-are-contained")
def test_paths_outside_a_package_are_rejected(tmp_path: Path) -> None:
    make_package(tmp_path / "home", "secret/SKILL.md secret.md")
    root = make_package(
        tmp_path / "pk",
        "prompts/ok.md",
        manifest={
            "skills": ["../home/secret", "linked"],
            "prompts": [str(tmp_path / "home"), "prompts", "C:\\x", "**/../../home/*.md"],
        },
    )
    (root / "linked").symlink_to(tmp_path / "home" / "secret")
    (root / "prompts" / "leak.md").symlink_to(tmp_path / "home" / "secret.md")

    resources, warnings = offered(root)

    assert resources == {"prompts": ("prompts/ok.md",)}
    assert len(warnings) == 6
    assert all("leads out of" in warning for warning in warnings)


def test_a_link_inside_the_package_is_followed(tmp_path: Path) -> None:
    make_package(tmp_path, "shared/SKILL.md")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "x").symlink_to("../shared")

    assert offered(tmp_path) == ({"skills": ("skills/x/SKILL.md",)}, [])


def test_circular_links_are_not_followed_endlessly(tmp_path: Path) -> None:
    make_package(tmp_path, "ext/a.py", manifest={"extensions": ["ext", "ext/loop", "**/*.py"]})
    (tmp_path / "ext" / "loop").symlink_to(".")
    make_package(tmp_path / "ext", "", manifest={"extensions": [".", "loop", "a.py"]})

    assert offered(tmp_path)[0] == {"extensions": ("ext/a.py",)}
