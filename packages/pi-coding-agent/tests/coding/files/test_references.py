from __future__ import annotations

import pytest

from pi.coding.files.references import System, expand_reference, strip_mention


@pytest.mark.behaviour("path-spellings-resolve")
@pytest.mark.parametrize(
    ("reference", "system", "path"),
    [
        ("a/b.txt", "posix", "a/b.txt"),
        ("~", "posix", "/home/me"),
        ("~/a", "posix", "/home/me/a"),
        ("~other/a", "posix", "~other/a"),
        ("file:///a/b%20c", "posix", "/a/b c"),
        ("file://localhost/a", "posix", "/a"),
        ("file://elsewhere/a", "posix", "file://elsewhere/a"),
        ("file:///C:/a", "windows", "C:/a"),
        (r"C:\Users\me\a.txt", "wsl", "/mnt/c/Users/me/a.txt"),
        ("d:/x", "wsl", "/mnt/d/x"),
        (r"C:\a", "posix", r"C:\a"),
        ("/c/Users/me", "windows", "C:/Users/me"),
        ("/mnt/c/a", "windows", "C:/a"),
        ("/cygdrive/d/a", "windows", "D:/a"),
        ("/mnt/c/a", "posix", "/mnt/c/a"),
    ],
)
def test_references_are_expanded_to_paths_of_the_system(
    reference: str, system: System, path: str
) -> None:
    assert expand_reference(reference, home="/home/me", system=system) == path


def test_the_at_sign_of_a_mention_is_removed() -> None:
    assert [strip_mention(mention) for mention in ("@a.txt", "a@b", "@")] == ["a.txt", "a@b", "@"]
