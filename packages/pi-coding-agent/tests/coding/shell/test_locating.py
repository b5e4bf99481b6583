from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.shell.locating import NoShell, find_shell
from tests.files import executable


@pytest.mark.behaviour("bash-is-found")
def test_bash_is_found_at_its_default_path() -> None:
    shell = find_shell("", environ={}, platform="linux", is_file=lambda path: True)

    assert shell == "/bin/bash"


@pytest.mark.behaviour("bash-is-found")
def test_bash_is_found_on_path_and_sh_only_without_it(tmp_path: Path) -> None:
    bash, sh = executable(tmp_path / "a/bash"), executable(tmp_path / "b/sh")

    def found(path: str) -> str:
        return find_shell("", environ={"PATH": path}, platform="linux", is_file=lambda path: False)

    assert found(f"{tmp_path}/b:{tmp_path}/a") == bash
    assert found(f"{tmp_path}/b") == sh
    with pytest.raises(NoShell, match="no bash"):
        found(str(tmp_path / "nowhere"))


@pytest.mark.behaviour("bash-is-found")
def test_a_configured_shell_is_used_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    own = executable(tmp_path / "bin/zsh")
    environ = {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}

    for configured in (own, "~/bin/zsh", "zsh"):
        assert find_shell(configured, environ=environ, platform="linux") == own
    with pytest.raises(NoShell, match="configured shell /gone does not exist"):
        find_shell("/gone", environ=environ, platform="linux")


@pytest.mark.behaviour("windows-commands")
def test_on_windows_the_bash_of_git_is_used_and_never_that_of_wsl() -> None:
    environ = {
        "ProgramFiles": r"C:\Program Files",
        "PATH": r"C:\Windows\System32;C:\Users\me\AppData\Local\Microsoft\WindowsApps;D:\git\bin",
    }

    def found(*files: str) -> str:
        return find_shell("", environ=environ, platform="win32", is_file=lambda f: f in files)

    legacy = r"C:\Windows\System32\bash.exe"
    store = r"C:\Users\me\AppData\Local\Microsoft\WindowsApps\bash.exe"
    git = r"C:\Program Files\Git\bin\bash.exe"
    on_path = r"D:\git\bin\bash.exe"
    assert found(legacy, store, on_path) == on_path
    assert found(legacy, git, on_path) == git
    with pytest.raises(NoShell, match="no bash"):
        found(legacy, store)
