"""Conditions are interpreted as in JavaScript."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
import re2

from pi.batteries.stream_rules.patterns import BadCondition, Condition, compile_condition

CASES = [
    ("TODO", "a TODO b", True),
    ("/todo/i", "TODO", True),
    ("/x/", "a/x/b", True),  # no flags: the slashes are characters
    ("/x/", "x", False),
    (r"\bfoo\b", "a foo.", True),
    (r"\bfoo\b", "food", False),
    (r"\w", "é", False),
    (r"\d", "٣", False),
    (r"a\sb", "a\u00a0b", True),
    (r"a\sb", "a\ufeffb", True),
    (r"[\s]b", "\u2003b", True),
    (r"\S", "\u00a0", False),
    ("a.b", "a\nb", False),
    ("a.b", "a\u2028b", False),
    ("/a.b/s", "a\nb", True),
    ("foo$", "foo\n", False),
    ("foo$", "a foo", True),
    ("/foo$/m", "foo\nx", True),
    ("^foo", "x\nfoo", False),
    ("/^foo/m", "x\nfoo", True),
    (r"\u0041", "A", True),
    (r"/\u{1F600}/u", "😀", True),
    (r"/\ud83d\ude00/u", "😀", True),
    (r"\x41", "A", True),
    (r"\cA", "\x01", True),
    (r"\0", "\0", True),
    (r"\v", "\x0b", True),
    ("[^]x", "\nx", True),
    ("[]x", "x", False),
    ("[[]", "[", True),
    ("[a&&b]", "&", True),
    (r"[\w-]+!", "-!", True),
    (r"[\b]", "\b", True),
    (r"\/x", "/x", True),
    (r"\-", "-", True),
    ("x{,2}", "x{,2}", True),
    ("a{2}", "aa", True),
    ("{", "{", True),
    ("]", "]", True),
    (r"/\p{Lu}/u", "É", True),
    (r"/\p{Script=Greek}/u", "α", True),
    (r"/\p{Letter}/u", "é", True),
    (r"(?<year>\d+)-x", "1999-x", True),
    (r"(?<c>a|b)\k<c>", "bb", True),
    (r"(?<c>a|b)\k<c>", "ab", False),
    (r"(a)?\1b", "b", True),
    (r"(['\"])x\1", "'x'", True),
    (r"(['\"])x\1", "'x\"", False),
    ("a(?=b)", "ab", True),
    ("a(?!b)", "ab", False),
    ("(?<=a)b", "ab", True),
    ("(?<!a)b", "ab", False),
    ("(?:a|b)+c", "abc", True),
    ("a{1001}", "a" * 1001, True),
]


def is_match(condition: Condition, text: str) -> bool:
    if condition.fast is not None:
        return condition.fast.search(text.encode()) is not None
    return re.search(condition.python, text, re.ASCII) is not None


@pytest.mark.parametrize(("pattern", "text", "matches"), CASES)
def test_a_condition_matches_as_in_javascript(pattern: str, text: str, matches: bool) -> None:
    assert is_match(compile_condition(pattern, re2), text) is matches


@pytest.mark.parametrize(
    ("pattern", "text", "matches"), [case for case in CASES if "\\p" not in case[0]]
)
def test_python_matches_all_conditions_without_re2(pattern: str, text: str, matches: bool) -> None:
    """Without RE2 Python matches everything."""
    condition = compile_condition(pattern, None)

    assert condition.fast is None
    assert is_match(condition, text) is matches


@pytest.mark.full
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_node_returns_the_same_matches() -> None:
    program = """
        const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const found = cases.map(([pattern, text]) => {
            const literal = pattern.match(/^\\/([^]+)\\/([dgimsuvy]+)$/);
            const regex = literal ? new RegExp(literal[1], literal[2]) : new RegExp(pattern);
            return regex.test(text);
        });
        console.log(JSON.stringify(found));
    """
    ended = subprocess.run(
        ["node", "-e", program], input=json.dumps(CASES), capture_output=True, text=True, check=True
    )

    assert json.loads(ended.stdout) == [matches for _, _, matches in CASES]


@pytest.mark.parametrize("pattern", ["(", "a**", "[a", "\\", "(?<=a+)b", r"\k<x>", "a)"])
def test_an_invalid_condition_is_refused_with_the_pattern(pattern: str) -> None:
    with pytest.raises(BadCondition, match="regular expression"):
        compile_condition(pattern, re2)


@pytest.mark.parametrize(
    ("pattern", "fast"),
    [("a+b", True), ("(?=a)b", False), (r"(a)\1", False), ("(a+)+$", True), ("a{1001}", False)],
)
def test_re2_is_used_for_supported_patterns(pattern: str, fast: bool) -> None:
    assert (compile_condition(pattern, re2).fast is not None) is fast
