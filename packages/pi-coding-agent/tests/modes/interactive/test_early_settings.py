from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pi.coding.settings.values import EditorValues, TerminalValues, TuiValues, Values
from pi.modes.interactive.early_settings import (
    EarlyEditor,
    EarlySettings,
    EarlyTerminal,
    EarlyTui,
    early_settings,
)


def test_names_and_defaults_are_those_of_the_settings() -> None:
    for early, real in (
        (EarlySettings(), Values()),
        (EarlyTerminal(), TerminalValues()),
        (EarlyEditor(), EditorValues()),
        (EarlyTui(), TuiValues()),
    ):
        reported = msgspec.to_builtins(early)
        for nested in ("terminal", "editor", "tui"):
            reported.pop(nested, None)
        all_values = msgspec.to_builtins(real)
        assert reported == {name: all_values[name] for name in reported}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_file_is_read(tmp_path: Path, encoding: str) -> None:
    text = '{"theme": "light", "retry": {"enabled": false}}'
    (tmp_path / "settings.json").write_text(text, encoding)

    assert early_settings(tmp_path) == EarlySettings(theme="light")


def test_comments_and_trailing_commas_are_read(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"theme": "light", // mine\n}')

    assert early_settings(tmp_path) == EarlySettings(theme="light")


def test_a_broken_settings_file_gives_the_defaults(tmp_path: Path) -> None:
    assert early_settings(tmp_path) == EarlySettings()
    for broken in (b'{"editorPaddingX": "wide"}', b'{"theme": "\xff"}', b'{"a":' * 100_000):
        (tmp_path / "settings.json").write_bytes(broken)
        assert early_settings(tmp_path) == EarlySettings()
