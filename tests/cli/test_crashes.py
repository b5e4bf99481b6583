from __future__ import annotations

from pathlib import Path

from pi.cli.crashes import keep_crash


def test_an_error_is_kept_with_its_place_and_without_secrets(tmp_path: Path) -> None:
    environ = {"PI_CODING_AGENT_DIR": str(tmp_path), "OPENAI_API_KEY": "correct horse"}
    try:
        raise ValueError("the key correct horse is bad")
    except ValueError as problem:
        path = keep_crash(problem, environ)

    text = path.read_text()
    assert path == tmp_path / "pi.log"
    assert "test_crashes.py" in text
    assert "ValueError: the key [redacted] is bad" in text
