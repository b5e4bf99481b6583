from __future__ import annotations

import logging
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.coding.other_agents import repository_of
from pi.coding.resources import ignore
from pi.coding.resources.ignore import (
    MAX_RULE_FILE_BYTES,
    IgnoreTree,
    is_ignored,
    parse_ignore_rules,
    rules_in,
)


@pytest.mark.parametrize(
    ("rules", "ignored", "not_ignored"),
    [
        ("*.log\n!keep.log", ["a.log", "x/b.log"], ["keep.log", "x/keep.log", "a.txt"]),
        ("/top", ["top"], ["x/top"]),
        ("a/b", ["a/b"], ["x/a/b"]),
        ("# no\n\n  \n\\#yes", ["#yes"], ["# no"]),
        ("trailing   ", ["trailing"], ["trailing   x"]),
        ("**/deep", ["deep", "x/y/deep"], ["deeper"]),
        ("{a,b}", ["{a,b}"], ["a", "b"]),
    ],
)
def test_ignore_rules_match_as_in_git(
    rules: str, ignored: list[str], not_ignored: list[str]
) -> None:
    parsed = parse_ignore_rules(rules)

    assert [p for p in ignored + not_ignored if is_ignored(p, parsed, is_folder=False)] == ignored


def test_a_rule_with_a_slash_at_its_end_is_for_folders() -> None:
    rules = parse_ignore_rules("build/")

    assert is_ignored("a/build", rules, is_folder=True)
    assert not is_ignored("a/build", rules, is_folder=False)


@pytest.mark.behaviour("globs-and-ignore-files")
def test_rules_apply_below_their_folder_and_not_in_inner_repositories(
    tmp_path: Path,
) -> None:
    (tmp_path / ".git/info").mkdir(parents=True)
    (tmp_path / ".git/info/exclude").write_text("excluded\n")
    (tmp_path / ".gitignore").write_text("*.log\n/top/x\n")
    (tmp_path / "top/inner/.git").mkdir(parents=True)
    (tmp_path / "top/.gitignore").write_text("!kept.log\nlocal\n")
    (tmp_path / "top/.ignore").write_text("searchers\n")

    def ignored(root: Path, *paths: str) -> list[str]:
        tree = IgnoreTree(root, home=tmp_path / "home", require_git=True)
        return [path for path in paths if tree.ignores(path, is_folder=False)]

    assert ignored(tmp_path, "a.log", "excluded", "top/x", "x", "local") == [
        "a.log",
        "excluded",
        "top/x",
    ]
    assert ignored(
        tmp_path, "top/a.log", "top/kept.log", "top/local", "top/searchers", "top/inner/a.log"
    ) == ["top/a.log", "top/local", "top/searchers"]
    assert ignored(tmp_path / "top", "a.log", "x", "kept.log", "y/x") == ["a.log", "x"]
    assert repository_of(tmp_path / "top/inner") == tmp_path / "top/inner"


def test_gitignore_applies_outside_a_repository_only_if_requested(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a\n")
    (tmp_path / ".ignore").write_text("b\n")

    def ignored(*, require_git: bool) -> list[str]:
        tree = IgnoreTree(tmp_path, home=tmp_path, require_git=require_git)
        return [path for path in ("a", "b") if tree.ignores(path, is_folder=False)]

    assert (ignored(require_git=True), ignored(require_git=False)) == (["b"], ["a", "b"])


NAMES = st.sampled_from(["a", "b", "a.py", "b.log", "ab"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATTERNS = st.sampled_from(
    ["a", "*.log", "/a", "a/b", "**/b", "a/**", "!a", "!b.log", "a*", "[ab].py", "b/", "!a/b"]
)


@pytest.mark.slow
@given(st.lists(PATTERNS, max_size=4), PATHS)
def test_ignore_rules_agree_with_git(
    tmp_path_factory: pytest.TempPathFactory,
    patterns: list[str],
    path: str,
) -> None:
    git = shutil.which("git") or pytest.skip("git is not installed; not tested: its rules")
    root = tmp_path_factory.mktemp("git")
    subprocess.run([git, "init", "-q"], cwd=root, check=True)
    (root / ".gitignore").write_text("\n".join(patterns) + "\n")
    result = subprocess.run([git, "check-ignore", "-q", path], cwd=root, check=False)

    tree = IgnoreTree(root, home=root, require_git=True)
    parts = path.split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    ours = any(tree.ignores(folder, is_folder=True) for folder in above) or tree.ignores(
        path, is_folder=False
    )

    assert ours == (result.returncode == 0)


def test_blanks_in_a_long_line_are_parsed_fast() -> None:
    begin = time.thread_time()

    rules = parse_ignore_rules(f"a{' ' * 500_000}x")

    assert not is_ignored("a", rules, is_folder=False)
    assert time.thread_time() - begin < 1.0


def test_only_the_first_rules_of_a_very_long_file_are_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ignore, "MAX_RULES", 3)
    (tmp_path / ".gitignore").write_text("a\n# no rule\nb\nc\nd\n")

    with caplog.at_level(logging.WARNING, "pi"):
        rules = rules_in(tmp_path, [".gitignore"])

    assert [name for name in "abcd" if is_ignored(name, rules, is_folder=False)] == ["a", "b", "c"]
    assert f"first 3 rules of {tmp_path / '.gitignore'}" in caplog.text


@pytest.mark.parametrize("kind", ["pipe", "endless", "large"])
def test_a_rule_file_that_cannot_be_read_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    file = tmp_path / ".gitignore"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "endless":
        file.symlink_to("/dev/zero")
    else:
        file.write_text("a" * (MAX_RULE_FILE_BYTES + 1))

    with caplog.at_level(logging.WARNING, "pi"):
        assert rules_in(tmp_path, [".gitignore"]) == ()
    assert f"{file} are not used: it is" in caplog.text
