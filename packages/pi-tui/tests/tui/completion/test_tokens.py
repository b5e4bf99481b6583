from __future__ import annotations

import pytest

from pi.tui.completion.sources import Token, mention_before, path_before, written


@pytest.mark.behaviour("paths-complete")
@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("@", Token(raw="@", path="", mention=True)),
        ("see @src/ma", Token(raw="@src/ma", path="src/ma", mention=True)),
        ('see @"my fi', Token(raw='@"my fi', path="my fi", mention=True, quoted=True)),
        ("(@a", Token(raw="@a", path="a", mention=True)),
        ("看@src", Token(raw="@src", path="src", mention=True)),
        ("你好，@目录、文", Token(raw="@目录、文", path="目录、文", mention=True)),
        ("me@example.org", None),
        ("@a b", None),
        ('@"a b" c', None),
        ("", None),
    ],
)
def test_a_mention_is_found_before_the_cursor(text: str, token: Token | None) -> None:
    assert mention_before(text) == token


@pytest.mark.behaviour("paths-complete")
@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("cat ./src/ma", Token(raw="./src/ma", path="./src/ma")),
        ('cat "my fi', Token(raw='"my fi', path="my fi", quoted=True)),
        ("--file=src", Token(raw="src", path="src")),
        ("/tmp/x", Token(raw="/tmp/x", path="/tmp/x")),
        ("a ", Token(raw="", path="")),
        ("", Token(raw="", path="")),
    ],
)
def test_a_path_is_found_before_the_cursor(text: str, token: Token) -> None:
    assert path_before(text) == token


@pytest.mark.behaviour("paths-complete")
@pytest.mark.parametrize(
    ("path", "token", "text"),
    [
        ("src/a.py", Token(raw="", path=""), "src/a.py"),
        ("src/a.py", Token(raw="", path="", mention=True), "@src/a.py"),
        ("my file", Token(raw="", path=""), '"my file"'),
        ("my dir/", Token(raw="", path="", mention=True), '@"my dir/'),
        ("a.py", Token(raw="", path="", quoted=True), '"a.py"'),
        ("it's", Token(raw="", path=""), '"it\'s"'),
        ("文、件", Token(raw="", path="", mention=True), "@文、件"),
    ],
)
def test_a_path_is_quoted_only_if_necessary(path: str, token: Token, text: str) -> None:
    assert written(path, token) == text
