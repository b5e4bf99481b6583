from __future__ import annotations

from pathlib import Path

from tests.cli.program import Program


def test_doctor_succeeds_in_a_new_home_without_credentials(tmp_path: Path) -> None:
    ended = Program.below(tmp_path, PI_OFFLINE="1").run("doctor")

    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].startswith("✓ pi ")
    assert "○ credentials   for no provider" in lines
    assert any(line.strip().startswith("→ Set a variable such as") for line in lines)
    assert lines[-1] == "· update        not checked: disabled"


def test_doctor_fails_for_a_broken_settings_file(tmp_path: Path) -> None:
    cli = Program.below(tmp_path, PI_OFFLINE="1")
    path = cli.write("settings.json", "{nope")

    ended = cli.run("doctor")

    assert ended.code == 1
    assert f"✗ settings      Invalid settings file {path}" in ended.out
