from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.base.processes import SpawnFailed
from pi.modes.interactive.external_editor import EditorFailed, edit_text, editor_command

ENV = {"PATH": "/usr/bin:/bin"}


def test_the_setting_overrides_the_variables_and_these_override_the_default() -> None:
    environ = {"VISUAL": "vi -n", "EDITOR": "ed"}

    assert editor_command("code --wait", environ, "linux") == ["code", "--wait"]
    assert editor_command(None, environ, "linux") == ["vi", "-n"]
    assert editor_command(None, {"EDITOR": "ed"}, "linux") == ["ed"]
    assert editor_command(None, {}, "linux") == ["nano"]
    assert editor_command(None, {}, "win32") == ["notepad"]


def test_a_blank_setting_is_ignored_and_an_unclosed_quotation_is_reported() -> None:
    assert editor_command(" ", {"EDITOR": "ed"}, "linux") == ["ed"]

    with pytest.raises(EditorFailed, match="No closing quotation"):
        editor_command('vim "', {}, "linux")


@pytest.mark.behaviour("external-editor")
def test_a_windows_path_keeps_its_backslashes() -> None:
    command = r'"C:\Program Files\vim\gvim.exe" --nofork'

    assert editor_command(command, {}, "win32") == [
        r"C:\Program Files\vim\gvim.exe",
        "--nofork",
    ]


def script(tmp_path: Path, code: str) -> list[str]:
    path = tmp_path / "editor.py"
    path.write_text(f"import sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n{code}\n")
    return [sys.executable, str(path)]


async def test_the_saved_text_is_returned(tmp_path: Path) -> None:
    command = script(tmp_path, "path.write_text(path.read_text().upper() + '\\n')")

    edited = await edit_text("häh\nb", command, suffix=".md", cwd=tmp_path, env=ENV)

    assert edited == "HÄH\nB"


async def test_an_editor_that_exits_with_an_error_is_reported(tmp_path: Path) -> None:
    command = script(tmp_path, "sys.exit(1)")

    with pytest.raises(EditorFailed, match="ended with code 1"):
        await edit_text("text", command, suffix=".md", cwd=tmp_path, env=ENV)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_an_editor_that_is_killed_is_reported_by_the_name_of_the_signal(
    tmp_path: Path,
) -> None:
    command = script(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")

    with pytest.raises(EditorFailed, match="was ended by SIGKILL"):
        await edit_text("text", command, suffix=".md", cwd=tmp_path, env=ENV)


async def test_an_editor_that_deletes_the_file_is_reported(tmp_path: Path) -> None:
    command = script(tmp_path, "path.unlink()")

    with pytest.raises(EditorFailed, match="The text is unchanged"):
        await edit_text("text", command, suffix=".md", cwd=tmp_path, env=ENV)


async def test_a_missing_folder_does_not_prevent_editing(tmp_path: Path) -> None:
    command = script(tmp_path, "path.write_text('new')")

    edited = await edit_text("text", command, suffix=".md", cwd=tmp_path / "gone", env=ENV)

    assert edited == "new"


async def test_a_missing_editor_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SpawnFailed) as reported:
        await edit_text("text", ["no-such-editor"], suffix=".md", cwd=tmp_path, env=ENV)

    assert "EDITOR" in reported.value.hint
