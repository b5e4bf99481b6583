"""Nothing of a package runs while it is installed: every form of source and of dependency.

Each hostile package has a build backend, a script or a hook that leaves a mark.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from pi.base.clock import SystemClock
from pi.base.records import replace
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import InstallFailed, PackageLocation, PackageProblem
from pi.coding.packages.store import PackageStore
from tests.coding.packages.conftest import MakeStore
from tests.coding.packages.making import Repository, make_package, make_wheel
from tests.coding.packages.npm_registry import npm_registry
from tests.sampling import sampled

BACKEND = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "evil"
version = "1"
"""


class Trap:
    """A Python project that leaves a mark when anything of it is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "evil"
        self._mark = folder / "mark"
        self.folder.mkdir(parents=True)
        leave = f"open({str(self._mark)!r}, 'w').close()\n"
        (self.folder / "pyproject.toml").write_text(BACKEND)
        (self.folder / "backend.py").write_text(leave)
        (self.folder / "setup.py").write_text(leave)
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\ntouch '{self._mark}'\n")
        self.program.chmod(0o755)

    @property
    def has_run(self) -> bool:
        return self._mark.exists()

    def in_git(self) -> Trap:
        """The same as a repository."""
        repository = Repository(self.folder.parent / "repository")
        shutil.copytree(self.folder, repository.folder, dirs_exist_ok=True)
        repository.commit()
        self.folder = repository.folder
        return self

    def sdist(self, folder: Path) -> Path:
        """The same as an archive in ``folder``."""
        path = folder / "evil-1.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(self.folder, "evil-1")
        return path


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


FORMS = {
    "a path": "{evil}",
    "a relative path": "../trap/evil",
    "a path here": "./evil",
    "a path with an extra": "{evil}[extra]",
    "a path with a marker": "{evil}; python_version > '3'",
    "a file address": "file://{evil}",
    "a short file address": "file:{evil}",
    "a repository": "git+file://{evil}",
    "a repository with a name": "evil @ git+file://{evil}",
    "a name at a path": "evil @ file://{evil}",
    "a name at a path, without spaces": "evil@file://{evil}",
    "a name at an address": "evil @ https://127.0.0.1:1/evil-1.tar.gz",
    "a name with an extra at a path": "evil[x]@file://{evil}",
    "an archive": "{evil}.tar.gz",
    "an option": "-e{evil}",
    "a requirements file": "-r{evil}/requirements.txt",
    "two lines": "msgspec\n-e {evil}",
    "a variable": "evil @ file://${{HOME}}/evil",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
async def test_a_folder_with_a_dependency_outside_a_package_index_is_rejected(
    store: PackageStore, trap: Trap, tmp_path: Path, form: str
) -> None:
    tips = make_package(tmp_path / "tips", "extensions/x.py")
    need = form.format(evil=trap.folder)
    text = f"[project]\nname = 'x'\ndependencies = [{json.dumps(need)}]\n"
    (tips / "pyproject.toml").write_text(text)

    with pytest.raises(InstallFailed) as caught:
        await store.install(str(tips), tmp_path)

    assert not trap.has_run
    assert caught.value.message == (
        f'{tips} requires "{" ".join(need.split())}", which is not a name and version of a package'
        " index; nothing was installed."
    )
    assert store.entries() == ()


async def test_a_repository_with_a_dependency_outside_a_package_index_is_rejected(
    store: PackageStore, repository: Repository, trap: Trap, tmp_path: Path
) -> None:
    (repository.folder / "pyproject.toml").write_text(
        f"[project]\nname = 'x'\ndependencies = ['{trap.folder}']\n"
    )
    (repository.folder / "setup.py").write_text((trap.folder / "setup.py").read_text())
    repository.commit("extensions/x.py")

    with pytest.raises(InstallFailed, match=rf'^git:file/.*/tips requires "{trap.folder}"'):
        await store.install(repository.source, tmp_path)

    assert not trap.has_run


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", sampled(["file://{evil}", "git+file://{evil}", "file://{wheel}"], keep=1)
)
async def test_a_wheel_whose_metadata_requires_an_address_is_refused(
    store: PackageStore, wheelhouse: Path, trap: Trap, tmp_path: Path, form: str
) -> None:
    trap.in_git()
    wheel = make_wheel(tmp_path / "elsewhere", "evil", "1")
    address = form.format(evil=trap.folder, wheel=wheel)
    make_wheel(wheelhouse, "pi-inner", "2.0", requires=(f"evil @ {address}",))
    make_wheel(wheelhouse, "pi-tips", "1.0", requires=("pi-inner",))

    with pytest.raises(InstallFailed, match=r'^pi-inner.* requires ".+", which is not a name'):
        await store.install("pypi:pi-tips", tmp_path)

    assert not trap.has_run
    assert store.entries() == ()


@pytest.mark.slow
async def test_a_constraint_that_is_an_address_is_refused(
    make_store: MakeStore, programs: Programs, wheelhouse: Path, trap: Trap, tmp_path: Path
) -> None:
    make_wheel(wheelhouse, "pi-tips", "1.0")
    (tmp_path / "constraints").write_text(f"pi-tips @ file://{trap.folder}\n")
    odd = {**programs.environ, "PIP_CONSTRAINT": str(tmp_path / "constraints")}

    with pytest.raises(InstallFailed, match=r'^pypi:pi-tips requires ".*/evil", which is not'):
        await make_store(programs=replace(programs, environ=odd)).install("pypi:pi-tips", tmp_path)

    assert not trap.has_run


@pytest.mark.full
@pytest.mark.slow
async def test_variables_of_pip_cannot_add_anything_to_an_installation(
    make_store: MakeStore, programs: Programs, wheelhouse: Path, trap: Trap, tmp_path: Path
) -> None:
    make_wheel(wheelhouse, "pi-tips", "1.0")
    (tmp_path / "requirements").write_text(f"-e {trap.folder}\n")
    odd = {
        "PIP_REQUIREMENT": str(tmp_path / "requirements"),
        "PIP_EDITABLE": str(trap.folder),
        "PIP_PYTHON": str(trap.program),
        "PIP_NO_BINARY": ":all:",
        "PYTHONPATH": str(trap.folder),
    }
    store = make_store(programs=replace(programs, environ={**programs.environ, **odd}))

    await store.install("pypi:pi-tips", tmp_path)

    assert not trap.has_run
    assert [entry.source for entry in store.entries()] == ["pypi:pi-tips"]


@pytest.mark.full
@pytest.mark.slow
async def test_a_source_archive_is_not_built_even_if_pip_is_configured_to(
    make_store: MakeStore, programs: Programs, wheelhouse: Path, trap: Trap, tmp_path: Path
) -> None:
    trap.sdist(wheelhouse)
    configuration = tmp_path / "pip.conf"
    configuration.write_text(f"[install]\nno-binary = :all:\neditable = {trap.folder}\n")
    odd = {**programs.environ, "PIP_NO_BINARY": ":all:", "PIP_CONFIG_FILE": str(configuration)}

    with pytest.raises(InstallFailed):
        await make_store(programs=replace(programs, environ=odd)).install("pypi:evil", tmp_path)

    assert not trap.has_run


@pytest.mark.parametrize("name", ["site", "a:b"])
async def test_git_configuration_of_an_enclosing_repository_runs_no_programs(
    programs: Programs, trap: Trap, tmp_path: Path, name: str
) -> None:
    site = Repository(tmp_path / name)
    location = PackageLocation(scope="project", base=site.folder / ".pi")
    store = PackageStore(location, programs, lock=tmp_path / ".lock", clock=SystemClock())
    site.git("config", "core.gitProxy", str(trap.program))
    site.git("config", "core.fsmonitor", str(trap.program))
    site.git("config", "core.sshCommand", str(trap.program))

    with pytest.raises(InstallFailed, match="git ls-remote failed"):
        await store.install("git://127.0.0.1:1/o/r", site.folder)

    assert not trap.has_run


async def test_git_configuration_of_an_existing_checkout_runs_no_programs(
    make_store: MakeStore, repository: Repository, trap: Trap, tmp_path: Path
) -> None:
    store = make_store("project")
    repository.commit("skills/a/SKILL.md")
    await store.install(repository.source, tmp_path)
    (checkout,) = store.location.git.rglob(".git")
    with (checkout / "config").open("a") as config:
        config.write(
            f'[extensions]\n\tpartialClone = evil\n[remote "evil"]\n\tpromisor = true\n'
            f"\turl = file://{repository.folder}\n\tuploadpack = {trap.program}\n"
            f"[core]\n\tfsmonitor = {trap.program}\n\trepositoryformatversion = 1\n"
            f'[filter "mark"]\n\tsmudge = {trap.program}\n\trequired = true\n'
        )
    repository.commit("skills/b/SKILL.md")

    await store.install(repository.source, tmp_path)

    assert not trap.has_run
    assert (checkout.parent / "skills/b/SKILL.md").is_file()


async def test_git_files_of_a_repository_run_no_programs(
    store: PackageStore, repository: Repository, trap: Trap, tmp_path: Path
) -> None:
    (repository.folder / ".gitattributes").write_text("* filter=mark diff=mark merge=mark\n")
    (repository.folder / ".gitmodules").write_text(
        f'[submodule "x"]\n\tpath = x\n\turl = ext::{trap.program}\n\tupdate = !{trap.program}\n'
    )
    (repository.folder / ".gitconfig").write_text(f'[filter "mark"]\n\tsmudge = {trap.program}\n')
    repository.commit("skills/a/SKILL.md")
    hook = repository.folder / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    shutil.copy(trap.program, hook)

    await store.install(repository.source, tmp_path)

    assert not trap.has_run


@pytest.mark.parametrize("source", ["ext::{program}", "git:ext::{program}", "git:-u{program}/o/r"])
async def test_a_source_cannot_name_a_program(
    store: PackageStore, trap: Trap, tmp_path: Path, source: str
) -> None:
    with pytest.raises(PackageProblem):
        await store.install(source.format(program=trap.program), tmp_path)

    assert not trap.has_run


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
async def test_npm_runs_no_scripts_and_installs_only_packages_of_the_registry(
    make_store: MakeStore, programs: Programs, trap: Trap, tmp_path: Path
) -> None:
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), str(trap.program))
    inner, outer = Repository(tmp_path / "inner"), Repository(tmp_path / "outer")
    inner.commit(manifest={})
    # npm prepares a repository with a second npm, which obeys the .npmrc in it.
    (outer.folder / ".npmrc").write_text(f"git={trap.program}\nscript-shell={trap.program}\n")
    (outer.folder / "package.json").write_text(
        '{"name": "outer", "version": "1.0.0", "scripts": {"prepare": "true"},'
        f' "dependencies": {{"inner": "git+file://{inner.folder}"}}}}'
    )
    outer.commit()
    packages = {
        "tips": {"scripts": scripts, "dependencies": {"lib": "^1.0.0"}},
        "lib": {"scripts": scripts},
        "by-git": {"dependencies": {"outer": f"git+file://{outer.folder}"}},
    }
    seen: list[str] = []

    async def approve(arrivals: object) -> None:
        assert isinstance(arrivals, list)
        seen.extend(f"{arrival.name} {arrival.version}" for arrival in arrivals)

    with npm_registry(packages) as address:
        environ = {**os.environ, "NPM_CONFIG_REGISTRY": address}
        store = make_store(programs=replace(programs, environ=environ, npm_command=("npm",)))
        await store.install("npm:tips", tmp_path, approve)
        with pytest.raises(InstallFailed, match=r'^by-git requires "outer@git.*is not a name'):
            await store.install("npm:by-git", tmp_path)

    assert not trap.has_run
    assert seen == ["tips 1.0.0", "lib 1.0.0"]
    assert [entry.source for entry in store.entries()] == ["npm:tips"]
