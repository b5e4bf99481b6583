from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pi.base.processes import (
    MARKER,
    allow_listed,
    desktop_environment,
    find_program,
    without,
)
from tests.files import stand_in


def test_the_allow_list_keeps_harmless_variables_and_drops_secrets() -> None:
    harmless = {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LANG": "C",
        "LC_ALL": "C",
        "XDG_CACHE_HOME": "/cache",
        "https_proxy": "proxy",
        "NO_PROXY": "localhost",
        "SSL_CERT_FILE": "/ca.pem",
        "SystemRoot": "C:\\Windows",
        MARKER: "abc",
    }
    rest = {
        "OPENAI_API_KEY": "sk",
        "MY_PATH": "x",
        "PATHS": "x",
        "GIT_DIR": "/x",
        "AWS_PROFILE": "x",
    }

    assert allow_listed(harmless | rest) == harmless


@pytest.mark.skipif(os.name != "posix", reason="needs a program that is a script")
def test_programs_are_found_in_absolute_folders_of_path_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(tmp_path / "bin/tool", "true")
    monkeypatch.chdir(tmp_path)
    relative = {"PATH": ".:bin::./bin"}
    both = {"PATH": f"bin:{program.parent}:"}

    assert (find_program("tool", relative), find_program("tool", {})) == (None, None)
    assert find_program("tool", both) == str(program)
    assert allow_listed(both) == desktop_environment(both) == {"PATH": str(program.parent)}


def test_commands_of_the_user_get_all_variables_except_credentials_and_git_paths() -> None:
    kept = {"PATH": "/bin", "EDITOR": "vi", "GIT_PAGER": "cat", "GIT_CONFIG_COUNT": "0"}
    dropped = {"OPENAI_API_KEY": "sk", "GIT_DIR": "/x", "GIT_INDEX_FILE": "/y", "GIT_PREFIX": "z"}

    assert without(kept | dropped, {"OPENAI_API_KEY"}) == kept


@pytest.mark.skipif(shutil.which("git") is None, reason="not tested: git's own list of variables")
def test_repository_variables_of_git_are_dropped_except_its_configuration() -> None:
    answer = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    )

    left = without(dict.fromkeys(answer.stdout.split(), "x"), ())

    assert set(left) <= {"GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}


def test_desktop_programs_see_the_screen_too() -> None:
    shown = {"PATH": "/bin", "DISPLAY": ":0", "WAYLAND_DISPLAY": "w", "TMUX": "s", "WSLENV": "x"}

    assert desktop_environment({**shown, "OPENAI_API_KEY": "key", "OTHER": "1"}) == shown
