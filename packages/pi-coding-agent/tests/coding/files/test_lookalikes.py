from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from pi.coding.files.references import find_existing, visual_form


@pytest.mark.behaviour("path-spellings-resolve")
@pytest.mark.parametrize(
    ("real", "typed"),
    [
        ("Screenshot 2024-01-01 at 1.02.03\u202fPM.png", "Screenshot 2024-01-01 at 1.02.03 PM.png"),
        (unicodedata.normalize("NFD", "Übersicht é.txt"), "Übersicht é.txt"),
        ("Capture d\u2019écran.png", "Capture d'écran.png"),
        (unicodedata.normalize("NFD", "Capture d\u2019écran.png"), "Capture d'écran.png"),
        ("a b.txt", "a\u00a0b.txt"),
    ],
)
def test_a_file_is_found_under_a_lookalike_name(tmp_path: Path, real: str, typed: str) -> None:
    (tmp_path / "föld er").mkdir()
    (tmp_path / "föld er" / real).touch()

    existing = find_existing(tmp_path / unicodedata.normalize("NFD", "föld er") / typed)

    assert existing == tmp_path / "föld er" / real


def test_the_exact_name_is_always_preferred(tmp_path: Path) -> None:
    for name in ("it's", "it’s"):
        (tmp_path / name).touch()

    assert [find_existing(tmp_path / name).name for name in ("it's", "it’s")] == ["it's", "it’s"]


def test_an_ambiguous_or_missing_name_is_returned_unchanged(tmp_path: Path) -> None:
    for name in ("it’s", "it‘s"):
        (tmp_path / name).touch()

    assert find_existing(tmp_path / "it's") == tmp_path / "it's"
    assert find_existing(tmp_path / "no/such") == tmp_path / "no/such"


def test_lookalike_names_have_the_same_visual_form() -> None:
    assert visual_form("e\u0301\u202f“x”—y") == visual_form('é "x"-y')
