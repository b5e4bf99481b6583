"""Which files of a project can start something later."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.protected_files import protected_paths, starts_something


@pytest.mark.parametrize(
    "path",
    [
        *("a/mise.toml", ".mise.local.toml", ".devcontainer.json"),
        ".devcontainer/x/devcontainer.json",
        *("crush.json", ".aider.conf.yml", ".vimrc", ".gdbinit", "sub/.lldbinit", ".dir-locals.el"),
        *(".Rprofile", ".irbrc", ".qwen/settings.json", ".continue/config.yaml"),
        *(".idea/workspace.xml", ".idea/runConfigurations/a.xml", "GIT~1/config", "claude~2/x"),
    ],
)
def test_files_with_commands_of_other_programs_are_protected(path: str) -> None:
    assert starts_something(f"/project/{path}")


@pytest.mark.parametrize(
    "path", ["src/vimrc.py", "mise.py", ".idea/misc.xml", "git~1x/a", "digit~1/a", "src/crush.py"]
)
def test_other_files_are_not(path: str) -> None:
    assert not starts_something(f"/project/{path}")


def test_a_sandbox_protects_them_as_well(tmp_path: Path) -> None:
    names = {str(path.relative_to(tmp_path)) for path in protected_paths(tmp_path)}

    assert {".devcontainer.json", "mise.toml", ".idea/workspace.xml", ".vimrc"} <= names
