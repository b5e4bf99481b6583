"""The language of a file, for syntax trees."""

from __future__ import annotations

from pi.coding.files.syntax import syntax_language


def test_the_language_is_detected_by_the_suffix() -> None:
    paths = ("a/b.TS", "x.tsx", "m.py", "Makefile", "a.xyz")
    expected = ["typescript", "tsx", "python", "", ""]

    assert [syntax_language(path) for path in paths] == expected
