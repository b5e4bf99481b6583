from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.resources.ignore import PatternTooLarge, compile_glob, expand_braces


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
def test_glob_patterns_match_as_in_search_tools(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    glob = compile_glob(pattern)

    assert [path for path in [*matching, *others] if glob.fullmatch(path)] == matching


def test_case_and_braces_are_significant_by_default() -> None:
    assert compile_glob("readme*", ignore_case=True).fullmatch("README.md")
    assert not compile_glob("readme*").fullmatch("README.md")
    assert compile_glob("{a,b}", braces=False).fullmatch("{a,b}")


def reference(pattern: str) -> str:
    """The straightforward regular expression, which may take exponential time."""
    out = re.sub(r"(?:(?<=/)|^)(?:\*\*/)+", "D", pattern)
    out = re.sub(r"(?:(?<=[/D])|^)\*\*$", "E", out)
    out = re.sub(r"\*+", "[^/]*", out).replace("?", "[^/]")
    return out.replace("D", "(?:.*/)?").replace("E", ".*")


@given(
    st.lists(st.sampled_from(["*", "?", "**/", "/", "a", "b", "/**/", "/**"]), max_size=7),
    st.lists(st.text("ab/", max_size=7), max_size=30),
)
def test_the_fast_matcher_agrees_with_the_reference_expression(
    parts: list[str], paths: list[str]
) -> None:
    pattern = "".join(parts)
    glob, obvious = compile_glob(pattern), re.compile(reference(pattern))

    assert [p for p in paths if glob.fullmatch(p)] == [p for p in paths if obvious.fullmatch(p)]


NAMES = ["a" * 255, "a/" * 2000, ("a" * 200 + "/") * 20, "aa/" * 1300 + "x"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 30 + "b",
        "*a" * 2000,
        "**/" * 1000 + "b",
        "**/a/" * 800 + "b",
        "*/" * 2000 + "b",
        "**/*a*a*a*a*a*b/**/*a*a*a*a*b/**/c",
        "{a,aa}" * 7 + "b",
        "{*a,*aa}" * 7 + "b",
        "{a,b}" * 600,
        "{" * 2000 + "}" * 2000,
        "{a," * 1000 + "}" * 1000,
        "{" * 4000,
        "[" * 4000,
        "[!x]*" * 800 + "Z",
        "*a" * 500_000,
    ],
    ids=lambda pattern: f"{pattern[:20]} {len(pattern)}",
)
def test_every_pattern_is_matched_fast(pattern: str) -> None:
    begin = time.thread_time()
    glob = compile_glob(pattern, ignore_case=True)

    assert [name for name in NAMES if glob.fullmatch(name) and pattern[-1] in "bcxZ"] == []
    assert time.thread_time() - begin < 1.0  # a tenth of it, and for ever before


def test_a_too_large_pattern_matches_nothing_and_expanding_it_raises() -> None:
    assert compile_glob("{a,b}" * 100).fullmatch("a" * 100) is None
    with pytest.raises(PatternTooLarge, match="256"):
        expand_braces("{a,b}" * 100)
    with pytest.raises(PatternTooLarge, match="longer than 4096"):
        expand_braces("a" * 5000)
    assert compile_glob("a" * 5000, braces=False).fullmatch("a" * 5000) is None
