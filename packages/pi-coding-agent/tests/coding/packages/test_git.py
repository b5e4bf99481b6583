from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import GitSource, InstallFailed, PackageLocation, parse_source
from pi.coding.packages.staging import Outcome, approve_all, staging
from pi.coding.packages.store import install_git
from tests.coding.packages.making import Repository, make_package
from tests.files import old_git, stand_in
from tests.sampling import sampled


class Checkout:
    """One package that is installed repeatedly."""

    def __init__(self, source: str, location: PackageLocation, programs: Programs) -> None:
        parsed = parse_source(source, Path("/"))
        assert isinstance(parsed, GitSource)
        self.source, self.location, self.programs = parsed, location, programs
        self.folder = location.target(parsed)

    async def bring(self, *, update: bool = False, force: bool = False) -> Outcome:
        with staging(self.location.base) as work:
            return await install_git(
                self.source,
                self.location,
                self.programs,
                work,
                update=update,
                force=force,
                approve=approve_all,
            )

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name != ".git")


async def test_a_repository_is_checked_out_to_a_folder_named_after_its_url(
    repository: Repository, location: PackageLocation, programs: Programs
) -> None:
    commit = repository.commit("a.txt")
    checkout = Checkout(repository.source, location, programs)

    outcome = await checkout.bring()

    assert outcome == Outcome(change="fetched", after=commit)
    assert checkout.folder == location.git.joinpath("file", *repository.folder.parts[1:])
    assert checkout.files == ["a.txt"]
    assert await checkout.bring() == Outcome(change="current", before=commit, after=commit)


@pytest.mark.parametrize("how", sampled(["tag", "annotated", "commit", "short", "branch"], keep=3))
async def test_any_ref_can_be_named(
    repository: Repository, location: PackageLocation, programs: Programs, how: str
) -> None:
    commit = repository.commit("a.txt")
    repository.git("tag", "v1")
    repository.git("tag", "--annotate", "--message", "x", "v1a")
    repository.git("branch", "side/one")
    repository.commit("b.txt")
    refs = {"tag": "v1", "annotated": "v1a", "commit": commit, "short": commit[:8]}
    checkout = Checkout(repository.source, location, programs)
    checkout.source = replace(checkout.source, ref=refs.get(how, "side/one"))

    assert (await checkout.bring()).after == commit
    assert checkout.files == ["a.txt"]


async def test_an_update_follows_a_branch_but_not_a_tag(
    repository: Repository, location: PackageLocation, programs: Programs
) -> None:
    one = repository.commit("a.txt")
    repository.git("tag", "v1")
    checkout = Checkout(repository.source, location, programs)
    await checkout.bring()
    two = repository.commit("b.txt")

    assert await checkout.bring(update=True) == Outcome(change="fetched", before=one, after=two)

    checkout.source = replace(checkout.source, ref="v1")
    assert await checkout.bring(update=True) == Outcome(change="pinned", before=two, after=two)
    assert await checkout.bring() == Outcome(change="fetched", before=two, after=one)


@pytest.mark.full
@pytest.mark.behaviour("package-installs-are-contained")
@pytest.mark.parametrize("name", sampled(["agent", 'a:"b'], keep=1))
async def test_an_update_is_never_a_downgrade(
    repository: Repository, programs: Programs, tmp_path: Path, name: str
) -> None:
    location = PackageLocation(scope="user", base=tmp_path / name)
    repository.commit("a.txt")
    newest = repository.commit("b.txt")
    checkout = Checkout(repository.source, location, programs)
    await checkout.bring()
    repository.git("reset", "--quiet", "--hard", "HEAD~1")

    for force in (False, True):
        outcome = await checkout.bring(update=True, force=force)
        assert outcome == Outcome(change="kept", before=newest, after=newest)

    other = repository.commit("c.txt")
    assert (await checkout.bring(update=True)).after == other


@pytest.mark.behaviour("package-installs-are-contained")
@pytest.mark.parametrize("ref", ["", "missing", "0123456789abcdef0123456789abcdef01234567"])
async def test_a_failed_clone_leaves_nothing(
    repository: Repository, location: PackageLocation, programs: Programs, ref: str
) -> None:
    if ref:
        repository.commit("a.txt")
    checkout = Checkout(repository.source, location, programs)
    checkout.source = replace(checkout.source, ref=ref)

    with pytest.raises(InstallFailed):
        await checkout.bring()

    assert list(location.base.iterdir()) == []


async def test_a_failed_update_keeps_the_existing_checkout(
    repository: Repository, location: PackageLocation, programs: Programs, tmp_path: Path
) -> None:
    repository.commit("a.txt")
    checkout = Checkout(repository.source, location, programs)
    await checkout.bring()
    repository.folder.rename(tmp_path / "gone")

    with pytest.raises(InstallFailed, match=r"git ls-remote failed: .*does not"):
        await checkout.bring(update=True)

    assert checkout.files == ["a.txt"]


async def test_a_checkout_runs_no_hooks_and_fetches_no_submodules(
    repository: Repository, location: PackageLocation, tmp_path: Path, programs: Programs
) -> None:
    template = tmp_path / "template"
    make_package(template, "hooks/post-checkout")
    (template / "hooks" / "post-checkout").write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    (template / "hooks" / "post-checkout").chmod(0o755)
    inner = Repository(tmp_path / "repos" / "inner")
    inner.commit("x.txt")
    repository.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "sub"
    )
    repository.commit("a.txt")
    Path(os.environ["HOME"], ".gitconfig").write_text(
        f"[init]\n\ttemplateDir = {template}\n[core]\n\thooksPath = {template}/hooks\n"
    )
    checkout = Checkout(repository.source, location, programs)

    await checkout.bring()

    assert not (tmp_path / "ran").exists()
    assert list((checkout.folder / "sub").iterdir()) == []


async def test_a_folder_that_is_not_a_checkout_is_not_replaced(
    repository: Repository, location: PackageLocation, programs: Programs
) -> None:
    repository.commit("a.txt")
    checkout = Checkout(repository.source, location, programs)
    make_package(checkout.folder, "mine.txt")

    with pytest.raises(InstallFailed, match="is not a git checkout"):
        await checkout.bring()

    assert checkout.files == ["mine.txt"]


async def test_a_checkout_is_not_put_into_another_one(
    repository: Repository, location: PackageLocation, programs: Programs
) -> None:
    repository.commit("a.txt")
    inner = Repository(repository.folder / "inner")
    await Checkout(repository.source, location, programs).bring()

    with pytest.raises(InstallFailed, match="would be inside the package"):
        await Checkout(inner.source, location, programs).bring()


async def test_offline_only_a_local_repository_can_be_installed(
    repository: Repository, location: PackageLocation, programs: Programs
) -> None:
    repository.commit("a.txt")
    offline = replace(programs, offline=True)

    assert (await Checkout(repository.source, location, offline).bring()).change == "fetched"
    with pytest.raises(InstallFailed, match=r"https://h\.dev/o/r has to be fetched"):
        await Checkout("https://me:pass@h.dev/o/r", location, offline).bring()


async def test_a_broken_checkout_is_replaced(
    repository: Repository, location: PackageLocation, programs: Programs
) -> None:
    commit = repository.commit("a.txt")
    checkout = Checkout(repository.source, location, programs)
    make_package(checkout.folder, ".git/HEAD")

    assert await checkout.bring(update=True) == Outcome(change="fetched", after=commit)


async def test_git_2_30_is_new_enough(
    repository: Repository, location: PackageLocation, programs: Programs, tmp_path: Path
) -> None:
    git = old_git(tmp_path / "bin/git")
    path = f"{git.parent}:{programs.environ['PATH']}"
    checkout = Checkout(
        repository.source, location, replace(programs, environ={**programs.environ, "PATH": path})
    )
    one = repository.commit("a.txt")
    await checkout.bring()
    two = repository.commit("b.txt")

    assert await checkout.bring(update=True) == Outcome(change="fetched", before=one, after=two)


@pytest.mark.parametrize(
    "when", sampled(["ls-remote", "clone", "cat-file", "checkout", "merge-base"], keep=2)
)
@pytest.mark.parametrize(
    "how", sampled(["kill -SEGV $$", "yes | head -c 9000000 >&2; exit 3"], keep=1)
)
async def test_a_failure_of_git_is_reported_and_changes_nothing(
    repository: Repository,
    location: PackageLocation,
    programs: Programs,
    tmp_path: Path,
    when: str,
    how: str,
) -> None:
    one = repository.commit("a.txt")
    checkout = Checkout(repository.source, location, programs)
    await checkout.bring()
    repository.commit("b.txt")
    fails = f'case " $* " in *" {when} "*) {how};; esac; exec "{shutil.which("git")}" "$@"'
    git = stand_in(tmp_path / "bin/git", fails)
    path = f"{git.parent}:{programs.environ['PATH']}"
    checkout.programs = replace(programs, environ={**programs.environ, "PATH": path})

    if how.startswith("kill") or when not in ("cat-file", "merge-base"):  # whose code is an answer
        with pytest.raises(InstallFailed, match=f"git {when} failed"):
            await checkout.bring(update=True)
        assert checkout.files == ["a.txt"]
        checkout.programs = programs
        assert (await checkout.bring(update=True)).before == one
