from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from pi.agent.tools.tool import ToolFailed
from pi.coding.tools import programs as program_output
from pi.coding.tools import searching as python_search
from pi.coding.tools.listing import FileListing
from pi.coding.tools.programs import SearchPrograms
from pi.coding.tools.searching import MAX_MATCH_CHARACTERS, Match, Search, rooted_glob, search
from tests.bounded import LoopWatchdog
from tests.files import old_rg, stand_in
from tests.sampling import sampled

pytestmark = pytest.mark.parametrize("bundled", [True, False], ids=["ripgrep", "Python"])


async def found(bundled: bool, path: Path, pattern: str, **options: Any) -> list[Match]:
    query = Search(pattern=pattern, path=path, **options)
    if not bundled:  # as in the process that replaces ripgrep
        return sorted(python_search.matches(query, path))
    return await search(query, programs(), home=path)


def programs(rg: Path | None = None, *, bundled: bool = True) -> SearchPrograms:
    """The bundled programs or none, with an optional other ripgrep before them."""
    path = str(rg.parent) if rg else os.devnull
    return SearchPrograms(lambda: {"PATH": path}, bundled=bundled)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("a.py", "src/b.py", "src/deep/c.txt", "x.log", ".hidden"):
        (tmp_path / name).write_text(f"one\nneedle in {name}\r\nNEEDLE\n")
    (tmp_path / "binary").write_bytes(b"needle\0")
    return tmp_path


async def test_matches_are_sorted_and_ignored_files_are_skipped(tree: Path, bundled: bool) -> None:
    assert await found(bundled, tree, r"nee\w+ in") == [
        Match(".hidden", 2, "needle in .hidden"),
        Match("a.py", 2, "needle in a.py"),
        Match("src/b.py", 2, "needle in src/b.py"),
        Match("src/deep/c.txt", 2, "needle in src/deep/c.txt"),
    ]


async def test_a_single_file_is_searched_although_it_is_ignored(tree: Path, bundled: bool) -> None:
    assert await found(bundled, tree / "x.log", "needle", ignore_case=True) == [
        Match("x.log", 2, "needle in x.log"),
        Match("x.log", 3, "NEEDLE"),
    ]


@pytest.mark.behaviour("globs-and-ignore-files")
@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*.py", ["src/b.py"]),
        ("/a.py", ["a.py"]),
        ("ROOT/src/**", ["src/b.py", "src/deep/c.txt"]),
        ("!*.py", [".hidden", "src/deep/c.txt"]),
        ("*.{txt,md}", ["src/deep/c.txt"]),
        ("/elsewhere/*.py", []),
    ],
)
async def test_globs_choose_files(tree: Path, bundled: bool, glob: str, files: list[str]) -> None:
    matches = await found(bundled, tree, "needle", glob=glob.replace("ROOT", str(tree)))

    assert [match.path for match in matches] == files


@pytest.mark.behaviour("pattern-is-not-a-flag")
@pytest.mark.parametrize("pattern", ["--files", "-e", "-", "--help"])
async def test_a_pattern_that_looks_like_an_option_is_a_pattern(
    tmp_path: Path, bundled: bool, pattern: str
) -> None:
    (tmp_path / "-").write_text(f"x {pattern} y\n")

    assert await found(bundled, tmp_path, pattern) == [Match("-", 1, f"x {pattern} y")]


async def test_a_literal_pattern_means_itself(tmp_path: Path, bundled: bool) -> None:
    (tmp_path / "f").write_text("f()\nfoo\n")

    assert await found(bundled, tmp_path, "f()", literal=True) == [Match("f", 1, "f()")]


async def test_one_match_beyond_the_limit_is_returned(tmp_path: Path, bundled: bool) -> None:
    (tmp_path / "f").write_text("x\n" * 5000)

    assert len(await found(bundled, tmp_path, "x", limit=3)) == 4


async def test_the_first_matches_by_path_are_returned(tmp_path: Path, bundled: bool) -> None:
    for number in range(100):
        (tmp_path / f"{number:02}").mkdir()
        (tmp_path / f"{number:02}/f").write_text("x\n" * 50)

    assert await found(bundled, tmp_path, "x", limit=2) == [
        Match("00/f", 1, "x"),
        Match("00/f", 2, "x"),
        Match("00/f", 3, "x"),
    ]


async def test_the_folder_of_git_is_searched_like_others(tmp_path: Path, bundled: bool) -> None:
    for name in (".git", "bare.git"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("x\n")

    assert await found(bundled, tmp_path, "x") == [
        Match(".git/f", 1, "x"),
        Match("bare.git/f", 1, "x"),
    ]


async def test_lines_are_matched_in_any_encoding(tmp_path: Path, bundled: bool) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfone\n\n")
    (tmp_path / "open").write_bytes(b"two")
    (tmp_path / "wide").write_bytes("three\n".encode("utf-16"))

    assert await found(bundled, tmp_path, "^") == [
        Match("marked", 1, "one"),
        Match("marked", 2, ""),
        Match("open", 1, "two"),
        Match("wide", 1, "three"),
    ]


async def test_a_pipe_is_skipped(tmp_path: Path, bundled: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "f").write_text("x\n")

    assert await found(bundled, tmp_path, "x") == [Match("f", 1, "x")]


async def test_an_invalid_pattern_is_an_error(tmp_path: Path, bundled: bool) -> None:
    with pytest.raises(ToolFailed, match=r"^regex parse error:\n    a\(b\n"):
        await search(Search(pattern="a(b", path=tmp_path), programs(bundled=bundled), home=tmp_path)


async def test_a_match_in_a_very_long_line_is_truncated(tmp_path: Path, bundled: bool) -> None:
    (tmp_path / "f").write_text("x" * 3_000_000 + "needle\n")

    assert await found(bundled, tmp_path, "needle") == [Match("f", 1, "x" * MAX_MATCH_CHARACTERS)]


async def test_a_line_that_matches_everywhere_takes_little_memory(
    tmp_path: Path, bundled: bool
) -> None:
    (tmp_path / "f").write_text("x" * 8_000_000)
    tracemalloc.start()
    try:
        assert await search(
            Search(pattern="x", path=tmp_path / "f"), programs(bundled=bundled), home=tmp_path
        ) == [Match("f", 1, "x" * MAX_MATCH_CHARACTERS)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 2_000_000


async def test_a_named_binary_file_is_searched(tmp_path: Path, bundled: bool) -> None:
    (tmp_path / "f").write_bytes(b"needle\n" + b"a" * 20_000 + b"\0needle\n")
    expected = [Match("f", 1, "needle"), Match("f", 2, "a" * MAX_MATCH_CHARACTERS)]

    assert await found(bundled, tmp_path / "f", "needle") == expected


async def test_a_line_feed_in_a_name_belongs_to_the_name(tmp_path: Path, bundled: bool) -> None:
    (tmp_path / "a\nb").write_text("x\n")
    (tmp_path / "binary").write_bytes(b"x\n" * 50_000 + b"\0")
    (tmp_path / "c").write_text("x\n")

    matches = await found(bundled, tmp_path, "x", limit=100_000)

    assert [match for match in matches if match.path != "binary"] == [
        Match("a\nb", 1, "x"),
        Match("c", 1, "x"),
    ]


@pytest.mark.behaviour("globs-and-ignore-files")
async def test_a_search_of_everything_is_cancelled_at_once(bundled: bool) -> None:
    query = Search(pattern="no such text anywhere xyzzy", path=Path("/usr"))
    searching = asyncio.create_task(search(query, programs(bundled=bundled), home=Path("/")))
    await asyncio.sleep(0)

    searching.cancel()

    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await searching


def test_absolute_globs_are_made_relative_to_the_folder(bundled: bool) -> None:
    assert [rooted_glob(glob, Path("/r")) for glob in ("/r/a/*", "!/r/b", "*.py", "/x")] == [
        "/a/*",
        "!/b",
        "*.py",
        "/x",
    ]


@pytest.mark.parametrize(
    "program",
    sampled(
        [
            'echo "error: Found argument --json which wasn\'t expected" >&2; exit 2',
            "echo 'rg: unrecognized flag --sort' >&2; exit 2",
            "exit 127",
            "echo cannot be started >&2; exit 1",
            "kill -SEGV $$",
            'echo \'{"type":"begin"}\'; echo damaged >&2; exit 70',
        ],
        keep=2,
    ),
    ids=["rg 13", "rg 14", "missing library", "broken", "crash", "half way"],
)
async def test_a_broken_ripgrep_falls_back_to_python(
    tmp_path: Path, bundled: bool, program: str
) -> None:
    rg = stand_in(tmp_path / "bin/rg", program)
    (tmp_path / "f").write_text("a needle\n")

    assert await search(Search(pattern="needle", path=tmp_path), programs(rg), home=tmp_path) == [
        Match("f", 1, "a needle")
    ]


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="a program that waits is noticed on Linux only")
async def test_ignore_files_that_are_pipes_or_endless_do_not_stop_a_search(
    tmp_path: Path, bundled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_output, "STALL_SECONDS", 0.5)
    monkeypatch.setattr(program_output, "MAX_MEMORY_BYTES", 100_000_000)
    for folder in ("pipe", "endless"):
        (tmp_path / folder / ".git").mkdir(parents=True)
        (tmp_path / folder / "f").write_text("a needle\n")
    os.mkfifo(tmp_path / "pipe/.gitignore")
    (tmp_path / "endless/.gitignore").symlink_to("/dev/zero")

    for folder in ("pipe", "endless"):
        query = Search(pattern="needle", path=tmp_path / folder)
        assert await search(query, programs(bundled=bundled), home=tmp_path) == [
            Match("f", 1, "a needle")
        ]
        listing = FileListing(programs(bundled=bundled), home=tmp_path)
        assert await listing.below(tmp_path / folder) == [".gitignore", "f"]


async def test_ripgrep_13_is_new_enough(
    tree: Path, bundled: bool, caplog: pytest.LogCaptureFixture
) -> None:
    rg = programs().rg
    assert rg is not None
    own = programs(old_rg(tree.parent / "bin/rg", rg), bundled=False)
    query = Search(
        pattern="Needle in", path=tree, ignore_case=True, literal=True, glob="*.py", limit=1
    )

    with caplog.at_level(logging.WARNING, "pi"):
        assert [match.path for match in await search(query, own, home=tree)] == [
            "a.py",
            "src/b.py",
        ]
        assert "src/" in await FileListing(own, home=tree).below(tree)
    assert caplog.text == "", "Python has not searched instead"


async def test_much_standard_error_does_not_block_a_search(tmp_path: Path, bundled: bool) -> None:
    rg = stand_in(tmp_path / "bin/rg", "head -c 3000000 /dev/zero >&2; exit 3")
    (tmp_path / "f").write_text("a needle\n")

    assert await search(Search(pattern="needle", path=tmp_path), programs(rg), home=tmp_path) == [
        Match("f", 1, "a needle")
    ]


@pytest.mark.parametrize(
    "flood",
    sampled(
        [
            "exec cat /dev/zero",
            "printf './a\\0001:'; exec cat /dev/zero",
            "printf './'; exec cat /dev/zero",
            "exec yes",
            "exec yes >&2",
        ],
        keep=2,
    ),
)
async def test_endless_output_of_ripgrep_falls_back_to_python(
    tmp_path: Path, bundled: bool, flood: str, watchdog: LoopWatchdog
) -> None:
    rg = stand_in(tmp_path / "bin/rg", flood)
    (tmp_path / "f").write_text("a needle\n")
    query = Search(pattern="needle", path=tmp_path)

    async with asyncio.timeout(60):
        assert await search(query, programs(rg), home=tmp_path) == [Match("f", 1, "a needle")]


@pytest.mark.parametrize("literal", sampled([True, False], keep=1))
async def test_a_pattern_that_is_longer_than_an_argument_may_be_is_found(
    tmp_path: Path, bundled: bool, literal: bool
) -> None:
    long = "".join(f"needle {number} " for number in range(20_000))
    (tmp_path / "f").write_text(f"other\n{long}\n")
    query = Search(pattern=long, path=tmp_path, literal=literal)

    matches = await search(query, programs(bundled=bundled), home=tmp_path)

    assert [(match.path, match.number) for match in matches] == [("f", 2)]


async def test_a_long_invalid_pattern_and_a_long_glob_fail_with_a_short_message(
    tmp_path: Path, bundled: bool
) -> None:
    own = programs(bundled=bundled)
    (tmp_path / "f").write_text("x\n")
    for query in (
        Search(pattern="(" + "x" * 200_000, path=tmp_path),
        Search(pattern="x", path=tmp_path, glob="*" * 200_000),
    ):
        with pytest.raises(ToolFailed) as failed:
            await search(query, own, home=tmp_path)
        assert len(failed.value.message) < 1000
        assert re.search("unclosed group|unterminated|The glob is longer", failed.value.message)


async def test_an_exponential_expression_can_be_cancelled(
    tmp_path: Path, bundled: bool, watchdog: LoopWatchdog
) -> None:
    (tmp_path / "f").write_text("a" * 60 + "b\n")
    query = Search(pattern="(a|a)*$", path=tmp_path)
    searching = asyncio.create_task(search(query, programs(bundled=bundled), home=tmp_path))
    await asyncio.wait([searching], timeout=0.5)

    searching.cancel()

    async with asyncio.timeout(30):
        await asyncio.wait([searching])
