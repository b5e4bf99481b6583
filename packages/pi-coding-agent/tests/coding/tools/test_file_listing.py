from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pi.coding.tools import programs as program_output
from pi.coding.tools.listing import FileListing
from pi.coding.tools.programs import SearchPrograms
from tests.bounded import LoopWatchdog
from tests.files import OLD_FD, put, stand_in
from tests.sampling import sampled

FAKE_FD = """#!/bin/sh
echo "$@" > "$(dirname "$0")/asked"
printf './a.py\\0./folder/\\0./folder/b\\0'
"""


def lists(*, bundled: bool, path: str = os.devnull, home: Path = Path("/")) -> FileListing:
    return FileListing(SearchPrograms(lambda: {"PATH": path}, bundled=bundled), home=home)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with the cases that are easy to get wrong."""
    for folder in (".git/info", "src/deep", "empty", "build/out", "only-ignored", "inner/.git"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n/top-only\n")
    (tmp_path / "src/.gitignore").write_text("!kept.log\ngenerated\n")
    for name in (
        "a.py", ".hidden", "x.log", "top-only", "src/top-only", "src/kept.log", "src/generated",
        "src/deep/b.py", "build/out/c.py", "only-ignored/y.log", "inner/z.log", ".git/config",
        "a\nb.txt",
    ):  # fmt: skip
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("src", target_is_directory=True)
    (tmp_path / "link.log").symlink_to("a.py")
    return tmp_path


SEEN = [
    ".gitignore", ".hidden", "a\nb.txt", "a.py", "empty/", "inner/", "inner/z.log", "link",
    "only-ignored/", "src/", "src/.gitignore", "src/deep/", "src/deep/b.py", "src/kept.log",
    "src/top-only",
]  # fmt: skip


@pytest.mark.behaviour("globs-and-ignore-files")
@pytest.mark.parametrize("bundled", [True, False], ids=["ripgrep", "Python"])
async def test_everything_that_is_not_ignored_is_listed(tree: Path, bundled: bool) -> None:
    assert sorted(await lists(bundled=bundled).below(tree)) == sorted(SEEN)


@pytest.mark.behaviour("globs-and-ignore-files")
@pytest.mark.parametrize("bundled", [True, False], ids=["ripgrep", "Python"])
async def test_rules_of_parent_folders_apply(tree: Path, bundled: bool) -> None:
    assert sorted(await lists(bundled=bundled).below(tree / "src")) == [
        ".gitignore",
        "deep/",
        "deep/b.py",
        "kept.log",
        "top-only",
    ]


@pytest.mark.parametrize("bundled", [True, False], ids=["ripgrep", "Python"])
async def test_rules_apply_outside_a_repository_too(tmp_path: Path, bundled: bool) -> None:
    (tmp_path / ".gitignore").write_text("a\n")
    (tmp_path / "a").touch()

    assert await lists(bundled=bundled).below(tmp_path) == [".gitignore"]


async def test_fd_is_used_if_it_is_installed(tmp_path: Path) -> None:
    fd = tmp_path / "bin/fd"
    fd.parent.mkdir()
    fd.write_text(FAKE_FD)
    fd.chmod(0o755)
    path = f"{fd.parent}:{os.environ['PATH']}"

    assert await lists(bundled=True, path=path).below(tmp_path) == ["a.py", "folder/", "folder/b"]
    assert (fd.parent / "asked").read_text() == (
        "--hidden --color=never --print0 --exclude=.git --no-require-git . .\n"
    )


@pytest.mark.parametrize(
    "program",
    sampled(
        [
            OLD_FD,
            "exit 1",
            "printf './half-way\\0'; exit 1",
            "printf './half-way\\0'; kill -SEGV $$",
            "sleep 600",
            "exec yes",
            "exec yes >&2",
            "printf './a\\0%03000000d' 1",
            "exec head -c 100000000 /dev/zero",
            "yes ./same | tr '\\n' '\\0'",
        ],
        keep=3,
    ),
    ids=[
        *("8.6", "fails", "half way", "crash", "hangs", "flood", "complains", "one long path"),
        *("zero bytes", "one path for ever"),
    ],
)
@pytest.mark.parametrize("bundled", [True, False], ids=["ripgrep", "Python"])
async def test_a_failed_fd_falls_back_and_is_not_used_again(
    tmp_path: Path,
    watchdog: LoopWatchdog,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    bundled: bool,
) -> None:
    monkeypatch.setattr(program_output, "EXIT_GRACE_SECONDS", 0.3)
    fd = stand_in(tmp_path / "bin/fd", program)
    path = f"{fd.parent}:/usr/bin:/bin"
    project = tmp_path / "project"
    put(project / ".gitignore", "b\n")
    put(project / "folder/a", "")
    put(project / "folder/b", "")
    programs = SearchPrograms(lambda: {"PATH": path}, bundled=bundled)
    listing = FileListing(programs, home=tmp_path, silence=0.3)

    expected = [".gitignore", "folder/", "folder/a"]
    assert await listing.below(project) == expected
    fd.write_text("#!/bin/sh\nprintf './again\\0'\n")
    assert await listing.below(project) == expected, "a program that has failed is not asked again"


@pytest.mark.parametrize("program", ["exit 2", "echo no >&2; exit 2", "kill -SEGV $$"])
async def test_a_failed_ripgrep_falls_back_to_a_walk(tmp_path: Path, program: str) -> None:
    rg = stand_in(tmp_path / "bin/rg", f"printf './half-way\\0'; {program}")
    put(tmp_path / "project/a", "")

    paths = await lists(bundled=False, path=str(rg.parent)).below(tmp_path / "project")
    assert paths == (["half-way"] if program == "exit 2" else ["a"]), "2: a folder was closed"


async def test_only_the_first_matches_up_to_the_limit_are_kept(tmp_path: Path) -> None:
    fd = stand_in(tmp_path / "bin/fd", "seq 1 40000 | tr '\\n' '\\0'")
    listing = lists(bundled=False, path=f"{fd.parent}:/usr/bin:/bin")

    paths = await listing.below(tmp_path, accepts=lambda path: path.endswith("7"), most=3)

    assert paths == ["10007", "10017", "10027"]


@pytest.mark.behaviour("globs-and-ignore-files")
@pytest.mark.parametrize("bundled", [True, False], ids=["ripgrep", "Python"])
async def test_a_search_of_everything_is_cancelled_at_once(bundled: bool) -> None:
    searching = asyncio.create_task(lists(bundled=bundled).below(Path("/usr")))
    await asyncio.sleep(0)

    searching.cancel()

    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await searching
