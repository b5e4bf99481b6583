from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pi.ai.auth.config_values import remember_used
from pi.cli.crashes import log_crash


def test_a_crash_log_that_cannot_be_written_raises_and_prints_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pi.log").mkdir()

    with pytest.raises(OSError, match=r"pi\.log"):
        log_crash(ValueError(), {"PI_CODING_AGENT_DIR": str(tmp_path)})

    assert capsys.readouterr() == ("", "")


def test_a_crash_is_logged_with_its_traceback_and_without_secrets(tmp_path: Path) -> None:
    environ = {"PI_CODING_AGENT_DIR": str(tmp_path), "OPENAI_API_KEY": "correct horse"}
    try:
        raise ValueError("the key correct horse is bad")
    except ValueError as error:
        path = log_crash(error, environ)

    text = path.read_text()
    assert path == tmp_path / "pi.log"
    assert sys.platform == "win32" or path.stat().st_mode & 0o077 == 0
    assert "test_crashes.py" in text
    assert "ValueError: the key [redacted] is bad" in text


def test_secrets_from_files_and_used_secrets_are_redacted_too(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text('{"groq": {"type": "api_key", "key": "of the store"}}')
    (tmp_path / "models.json").write_text('{"providers": {"mine": {"headers": {"X-A": "$MINE"}}}}')
    remember_used("of a command")
    environ = {"PI_CODING_AGENT_DIR": str(tmp_path), "MINE": "of a header"}
    try:
        raise ValueError("of the store, of a command, of a header")
    except ValueError as error:
        path = log_crash(error, environ)

    assert "ValueError: [redacted], [redacted], [redacted]" in path.read_text()
