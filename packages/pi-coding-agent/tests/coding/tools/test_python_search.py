from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pi.coding.tools.searching import main


def request(path: Path, pattern: str, **options: object) -> bytes:
    fields = {"pattern": pattern, "path": str(path), "home": str(path), **options}
    return msgspec.json.encode(fields)


def test_matches_have_the_format_of_ripgrep(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "f").write_text("one\ntwo\n")

    assert main(request(tmp_path, "tw.")) == 0
    assert capsysbinary.readouterr().out == (b"./f\0002:two\n")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"pattern": "a("}, "regex parse error:\n    a(\nerror: missing )"),
        ({"pattern": "a", "glob": "{a,b}" * 99}, "glob error:"),
    ],
)
def test_an_invalid_pattern_is_reported(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: dict[str, str],
    complaint: str,
) -> None:
    assert main(request(tmp_path, **options)) == 2
    assert capsys.readouterr().err.startswith(complaint)
