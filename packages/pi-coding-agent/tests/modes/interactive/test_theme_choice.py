from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.theme_selector import BUILT_IN, ThemeSelector, built_in, themes_in
from pi.tui.negotiation import Scheme

BUNDLED = {"system", *(path.stem for path in themes_in(BUILT_IN))}


class ThemeFixture:
    def __init__(self, folder: Path, scheme: Scheme = "dark") -> None:
        self.folder = folder
        self.scheme: Scheme = scheme
        self.drawn = 0
        self.theme = Theme(built_in("dark"))
        self.choice = ThemeSelector(
            self.theme,
            files=lambda: themes_in(folder),
            scheme=lambda: self.scheme,
            redraw=self._redraw,
        )

    def write(self, name: str, accent: str = "#010203") -> Path:
        theme = json.loads((BUILT_IN / "dark.json").read_text())
        theme["name"], theme["colors"]["accent"] = name, accent
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(theme))
        return path

    def _redraw(self) -> None:
        self.drawn += 1


def test_without_a_request_the_terminal_decides(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path, "light")

    kit.choice.use(None)

    assert (kit.choice.current, kit.choice.follows_terminal) == ("light", True)


def test_a_pair_is_one_theme_for_light_and_one_for_dark(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)
    kit.write("mine")

    kit.choice.use("light/mine")
    assert kit.choice.current == "mine"
    kit.scheme = "light"
    kit.choice.scheme_changed("light")
    assert kit.choice.current == "light"


def test_a_single_theme_is_kept_when_the_terminal_scheme_changes(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)
    kit.choice.use("dark")

    kit.scheme = "light"
    kit.choice.scheme_changed("light")

    assert kit.choice.current == "dark"


def test_all_themes_are_listed_and_a_folder_beats_the_built_in_ones(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)
    kit.write("mine")
    kit.write("dark", "#0a0b0c")

    kit.choice.use("dark")

    assert kit.choice.names == (*sorted({*BUNDLED, "mine"}),)
    assert kit.theme.palette.colours["accent"] == "#0a0b0c"


def test_a_changed_theme_file_is_reloaded_unless_it_is_broken(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)
    path = kit.write("mine")
    kit.choice.use("mine")
    drawn = kit.drawn

    kit.choice.reload_if_changed()
    assert kit.drawn == drawn

    path.write_text("{")
    os.utime(path, ns=(1, 1))
    kit.choice.reload_if_changed()
    assert kit.theme.palette.colours["accent"] == "#010203"

    kit.write("mine", "#040506")
    os.utime(path, ns=(2, 2))
    kit.choice.reload_if_changed()
    assert (kit.theme.palette.colours["accent"], kit.drawn) == ("#040506", drawn + 1)


def test_a_theme_is_named_by_its_name_field(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)
    path = kit.write("evening").rename(tmp_path / "downloaded.json")

    kit.choice.use("evening")
    assert (kit.choice.current, kit.choice.names) == (
        "evening",
        (*sorted({*BUNDLED, "evening"}),),
    )
    kit.choice.use("downloaded")
    assert kit.choice.current == "evening"

    path.write_text("{")
    assert kit.choice.names == (*sorted({*BUNDLED, "downloaded"}),)


def test_a_pair_with_an_unknown_theme_is_rejected(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)

    with pytest.raises(InvalidTheme, match='Unknown theme "x"'):
        kit.choice.use("x/light")

    assert kit.choice.current == "dark"


def test_a_deleted_theme_file_keeps_the_current_theme(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)
    path = kit.write("mine")
    kit.choice.use("mine/light")
    path.unlink()

    kit.scheme = "light"
    kit.choice.scheme_changed("light")

    assert kit.choice.current == "light"


def test_an_unknown_theme_changes_nothing(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path)
    kit.choice.use("light")

    with pytest.raises(InvalidTheme, match='Unknown theme "x"'):
        kit.choice.use("x")

    assert kit.choice.current == "light"


def test_themes_of_a_session_are_available_once_it_provides_them(tmp_path: Path) -> None:
    kit = ThemeFixture(tmp_path / "nowhere")
    kit.folder = tmp_path
    path = kit.write("theirs")
    with pytest.raises(InvalidTheme, match="Unknown theme"):
        kit.choice.use("theirs")

    kit.choice.files = lambda: [path]
    kit.choice.use("theirs")
    assert kit.choice.names == (*sorted({*BUNDLED, "theirs"}),)
    assert kit.choice.current == "theirs"


def test_an_unreadable_folder_has_no_themes(tmp_path: Path) -> None:
    assert themes_in(tmp_path / ("x" * 300)) == []
