from __future__ import annotations

import pytest

from pi.coding.resources.globs import compile_glob, glob_regex


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("**/x", ["x", "a/x", "a/b/x"], ["ax", "x/y"]),
        ("src/**/*.py", ["src/a.py", "src/a/b/c.py"], ["a/src/b.py", "src/a.txt"]),
        ("src/**", ["src/a", "src/a/b"], ["src"]),
        ("a**b", ["ab", "axxb"], ["a/b"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "/x"]),
        ("[!a]x", ["bx"], ["ax", "/x"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[a", ["[a"], ["a"]),
        ("*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.js"]),
        ("{a,b{c,d}}", ["a", "bc", "bd"], ["b"]),
        ("{a", ["{a"], ["a"]),
        (r"\*", ["*"], ["a"]),
        ("a+b.c", ["a+b.c"], ["aab.c", "a+bxc"]),
        ("[z-a]", ["[z-a]"], ["z"]),
    ],
)
def test_patterns_mean_what_search_tools_mean(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    glob = compile_glob(pattern)

    assert [path for path in [*matching, *others] if glob.fullmatch(path)] == matching


def test_case_and_braces_matter_unless_said_otherwise() -> None:
    assert compile_glob("readme*", ignore_case=True).fullmatch("README.md")
    assert not compile_glob("readme*").fullmatch("README.md")
    assert compile_glob("{a,b}", braces=False).fullmatch("{a,b}")


def test_a_pattern_is_a_regular_expression() -> None:
    assert glob_regex("a*/**/b") == r"a[^/]*/(?:.*/)?b"
