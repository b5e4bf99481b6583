from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pi.base.locks import FileLock, FileLocked
from pi.base.records import replace
from pi.coding.packages.discovery import FoundPackages, Layer, Package, find_packages
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import InstallFailed, NoMatchingPackage, PackageProblem
from pi.coding.packages.staging import Outcome
from pi.coding.packages.store import PackageStore
from pi.coding.settings.files import BadSettings
from tests.coding.packages.conftest import MakeStore
from tests.coding.packages.making import (
    FakeNpm,
    Repository,
    interrupted,
    make_package,
    make_wheel,
    snapshot,
)
from tests.sampling import sampled


def listed(store: PackageStore) -> object:
    path = store.location.base / "settings.json"
    return json.loads(path.read_text()).get("packages") if path.exists() else None


def found(*stores: PackageStore) -> FoundPackages:
    return find_packages(
        Layer(location=store.location, entries=store.entries()) for store in stores
    )


def only(*stores: PackageStore) -> Package:
    (package,) = found(*stores).packages
    return package


async def test_a_folder_is_listed_once_and_relative_to_the_settings(
    store: PackageStore, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk" / "x", "skills/a/SKILL.md")

    for text in ("./pk/x", str(tmp_path / "pk" / "x"), "pk/../pk/x/"):
        assert await store.install(text, tmp_path) == Outcome(change="in place")

    assert listed(store) == ["../pk/x"]


async def test_another_version_replaces_the_first_and_keeps_filters(
    store: PackageStore, npm: FakeNpm, tmp_path: Path
) -> None:
    npm.publish("tips", "1.0.0", "skills/a/SKILL.md")
    npm.publish("tips", "2.0.0", "skills/a/SKILL.md")
    (tmp_path / "agent").mkdir()
    filters = {"source": "npm:tips@1.0.0", "skills": ["-skills/b.md"], "x": 1}
    settings = {"theme": "dark", "packages": [filters, "npm:other"]}
    (tmp_path / "agent" / "settings.json").write_text(json.dumps(settings))

    await store.install("npm:tips@2.0.0", tmp_path)

    assert json.loads((tmp_path / "agent" / "settings.json").read_text()) == {
        "theme": "dark",
        "packages": [filters | {"source": "npm:tips@2.0.0"}, "npm:other"],
    }


async def test_a_package_of_every_kind_is_installed_found_and_removed(
    store: PackageStore, npm: FakeNpm, repository: Repository, wheelhouse: Path, tmp_path: Path
) -> None:
    npm.publish("tips", "1.0.0", "skills/of-npm/SKILL.md extensions/x.ts")
    repository.commit("skills/of-git/SKILL.md extensions/y.py")
    make_wheel(wheelhouse, "pi-tips", "1.0", "pi_tips/skills/of-pypi/SKILL.md")
    make_package(tmp_path / "here", "skills/of-folder/SKILL.md")
    sources = ["npm:tips", repository.source, "pypi:pi-tips", "./here"]

    for source in sources:
        await store.install(source, tmp_path)
    packages = found(store)

    assert [place.path.parent.name for place in packages.places("skills")] == [
        "of-npm", "of-git", "of-pypi", "of-folder",
    ]  # fmt: skip
    assert [place.path.name for place in packages.places("extensions")] == ["y.py"]
    assert packages.packages[0].foreign == ("extensions/x.ts",)

    for source in sources:
        await store.remove(source, tmp_path, pytest.fail)
    assert listed(store) is None
    assert snapshot(tmp_path / "agent") == {
        ".packages.lock": "",
        "npm/package.json": '{"name": "pi-packages", "private": true, "dependencies": {}}',
        "settings.json": "{}",
    }
    assert (tmp_path / "here" / "skills").is_dir()


@pytest.mark.full
async def test_a_package_that_cannot_be_fetched_is_not_listed(
    store: PackageStore, npm: FakeNpm, repository: Repository, tmp_path: Path
) -> None:
    npm.break_down("fatal: no")

    for source in ("npm:tips", repository.source, "./nowhere", "pypi:pi-missing"):
        with pytest.raises(InstallFailed):
            await store.install(source, tmp_path)

    assert snapshot(tmp_path / "agent") == {".packages.lock": ""}


@pytest.mark.behaviour("broken-settings-are-left-alone")
async def test_unreadable_settings_are_rejected_before_anything_is_installed(
    store: PackageStore, npm: FakeNpm, tmp_path: Path
) -> None:
    (tmp_path / "agent").mkdir()
    settings = tmp_path / "agent" / "settings.json"

    settings.write_text("{oops")
    with pytest.raises(BadSettings):
        await store.install("npm:tips", tmp_path)
    assert settings.read_text() == "{oops"

    settings.write_text('{"packages": "npm:x"}')
    with pytest.raises(PackageProblem, match="is not a list"):
        await store.install("npm:tips", tmp_path)
    assert npm.calls() == []


class Meddled(Programs):
    """Programs whose ``npm install`` also overwrites the settings, as a user's edit would."""

    settings: Path
    text: str

    async def npm(self, *arguments: str, cwd: Path, package: str) -> str:
        output = await super().npm(*arguments, cwd=cwd, package=package)
        if arguments[0] == "install":
            self.settings.write_text(self.text)
        return output


@pytest.mark.parametrize("there", [True, False])
async def test_an_installation_is_rolled_back_when_it_cannot_be_listed_in_the_settings(
    make_store: MakeStore, programs: Programs, npm: FakeNpm, tmp_path: Path, there: bool
) -> None:
    npm.publish("tips", "1.0.0", "skills/a/SKILL.md")
    npm.publish("tips", "2.0.0", "skills/b/SKILL.md")
    if there:
        await make_store().install("npm:tips@1.0.0", tmp_path)
    settings = tmp_path / "agent" / "settings.json"
    before = {**snapshot(tmp_path / "agent"), ".packages.lock": "", "settings.json": "{oops"}
    meddled = Meddled(
        environ=programs.environ, npm_command=programs.npm_command, settings=settings, text="{oops"
    )

    with pytest.raises(BadSettings):
        await make_store(programs=meddled).install("npm:tips@2.0.0", tmp_path)

    assert snapshot(tmp_path / "agent") == before


@pytest.mark.behaviour("saves-merge-changed-keys")
async def test_settings_edited_during_an_installation_are_kept(
    make_store: MakeStore, programs: Programs, npm: FakeNpm, tmp_path: Path
) -> None:
    npm.publish("tips", "1.0.0", "skills/a/SKILL.md")
    settings = tmp_path / "agent" / "settings.json"
    meddled = Meddled(
        environ=programs.environ,
        npm_command=programs.npm_command,
        settings=settings,
        text='{"packages": ["npm:other"]}',
    )
    store = make_store(programs=meddled)

    await store.install("npm:tips", tmp_path)

    assert listed(store) == ["npm:other", "npm:tips"]


async def test_a_package_is_removed_by_the_name_that_the_list_shows(
    store: PackageStore, tmp_path: Path
) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md")
    await store.install("./pk", tmp_path)

    await store.remove("../pk", tmp_path / "agent" / "elsewhere", pytest.fail)

    assert listed(store) is None


async def test_a_package_that_is_not_there_cannot_be_removed(
    store: PackageStore, tmp_path: Path
) -> None:
    with pytest.raises(NoMatchingPackage, match="No matching package found for npm:tips"):
        await store.remove("npm:tips", tmp_path, pytest.fail)


async def test_a_package_is_removed_from_the_settings_even_if_its_files_remain(
    store: PackageStore, npm: FakeNpm, tmp_path: Path
) -> None:
    npm.publish("tips", "1.0.0")
    await store.install("npm:tips", tmp_path)
    npm.break_down("npm error locked")
    warnings: list[str] = []

    await store.remove("npm:tips", tmp_path, warnings.append)

    target = tmp_path / "agent" / "npm" / "node_modules" / "tips"
    assert listed(store) is None
    assert warnings == [f"{target} was not removed: npm uninstall failed: locked"]


async def test_an_update_also_installs_missing_packages(
    store: PackageStore, npm: FakeNpm, tmp_path: Path
) -> None:
    npm.publish("tips", "1.0.0")
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "settings.json").write_text('{"packages": ["npm:tips@1.0.0"]}')
    (missing,) = found(store).missing

    assert await store.update(missing) == Outcome(change="fetched", after="1.0.0")
    assert await store.update(missing) == Outcome(change="pinned", before="1.0.0", after="1.0.0")


async def test_packages_of_a_project_are_ignored_by_git(
    make_store: MakeStore, npm: FakeNpm, repository: Repository, tmp_path: Path
) -> None:
    npm.publish("tips", "1.0.0")
    repository.commit("skills/a/SKILL.md")
    store = make_store("project")

    await store.install("npm:tips", tmp_path / "site")
    await store.install(repository.source, tmp_path / "site")

    assert listed(store) == ["npm:tips", repository.source]
    folder = tmp_path / "site" / ".pi"
    assert sorted(path.name for path in folder.iterdir()) == ["git", "npm", "settings.json"]
    assert [(folder / name / ".gitignore").read_text() for name in ("git", "npm")] == ["*\n"] * 2


@pytest.mark.behaviour("package-installs-are-contained")
async def test_a_project_cannot_redirect_packages_by_links(
    make_store: MakeStore, repository: Repository, tmp_path: Path
) -> None:
    repository.commit("a.txt")
    (tmp_path / "site" / ".pi").mkdir(parents=True)
    outside = make_package(tmp_path / "outside", "x.txt")
    (tmp_path / "site" / ".pi" / "git").symlink_to(outside)

    with pytest.raises(InstallFailed, match="leads out of it"):
        await make_store("project").install(repository.source, tmp_path)

    assert snapshot(outside) == {"x.txt": "{}\n"}


HANGING = """\
#!/bin/sh
case "$*" in *" {step} "*) echo > '{signal}'; sleep 60;; esac
exec '{git}' "$@"
"""


@pytest.mark.behaviour("package-installs-are-contained")
@pytest.mark.parametrize("step", ["ls-remote", "clone", "checkout"])
@pytest.mark.parametrize("there", sampled(["nothing", "an older version"], keep=1))
async def test_an_interrupted_git_installation_keeps_the_previous_state(
    make_store: MakeStore,
    repository: Repository,
    programs: Programs,
    tmp_path: Path,
    step: str,
    there: str,
) -> None:
    repository.commit("skills/a/SKILL.md")
    store = make_store()
    if there != "nothing":
        await store.install(repository.source, tmp_path)
    before = snapshot(tmp_path / "agent")
    repository.commit("skills/b/SKILL.md")
    (tmp_path / "bin").mkdir()
    signal, program = tmp_path / "signal", tmp_path / "bin" / "git"
    os.mkfifo(signal)
    program.write_text(HANGING.format(step=step, signal=signal, git=shutil.which("git")))
    program.chmod(0o755)
    path = f"{program.parent}:{programs.environ['PATH']}"
    hanging = make_store(programs=replace(programs, environ={**programs.environ, "PATH": path}))

    await interrupted(hanging, repository.source, tmp_path, signal.read_text)

    assert snapshot(tmp_path / "agent") == (before or {".packages.lock": ""})
    assert (await store.install(repository.source, tmp_path)).change == "fetched"
    assert len(found(store).places("skills")) == 2


async def test_concurrent_installations_are_locked_out(
    store: PackageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi.coding.packages.store.LOCK_WAIT_SECONDS", 0.0)
    make_package(tmp_path / "pk", "skills/a/SKILL.md")
    (tmp_path / "agent").mkdir()

    with FileLock(tmp_path / "agent" / ".packages.lock"), pytest.raises(FileLocked):
        await store.install("./pk", tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("theirs.ts", "Extensions in TypeScript or JavaScript run in the original pi."),
        ("my_tips-1.0-py3-none-any.whl", "pi install pypi:my-tips`."),
        ("tips.tgz", "a single file must end with .py."),
    ],
)
async def test_installing_an_unsupported_file_has_a_hint(
    store: PackageStore, tmp_path: Path, name: str, hint: str
) -> None:
    make_package(tmp_path, name)

    with pytest.raises(InstallFailed, match="is not an extension in Python") as caught:
        await store.install(f"./{name}", tmp_path)

    assert caught.value.hint.endswith(hint)


async def test_a_typescript_extension_cannot_be_installed_alone(
    store: PackageStore, tmp_path: Path
) -> None:
    make_package(tmp_path, "mine.py theirs.ts")

    await store.install("./mine.py", tmp_path)
    with pytest.raises(InstallFailed, match="is not an extension in Python"):
        await store.install("./theirs.ts", tmp_path)

    assert [place.path for place in found(store).places("extensions")] == [tmp_path / "mine.py"]


async def test_a_resource_is_switched_in_the_settings(store: PackageStore, tmp_path: Path) -> None:
    make_package(tmp_path / "pk", "skills/a/SKILL.md prompts/p.md")
    await store.install("./pk", tmp_path)

    await store.toggle(only(store), "skills", "skills/a/SKILL.md", on=False)

    assert listed(store) == [{"source": "../pk", "skills": ["-skills/a/SKILL.md"]}]
    assert only(store).chosen == {"prompts": ("prompts/p.md",)}

    await store.toggle(only(store), "skills", "skills/a/SKILL.md", on=True)
    assert listed(store) == ["../pk"]


async def test_a_project_overrides_the_resources_it_uses_of_a_user_package(
    make_store: MakeStore, tmp_path: Path
) -> None:
    own, project = make_store(), make_store("project")
    make_package(tmp_path / "pk", "skills/a/SKILL.md skills/b.md skills/c.md")
    await own.install("./pk", tmp_path)
    await own.toggle(only(own), "skills", "skills/c.md", on=False)

    await project.toggle(only(project, own), "skills", "skills/b.md", on=False)
    await project.toggle(only(project, own), "skills", "skills/c.md", on=True)

    assert listed(project) == [
        {"source": "../../pk", "autoload": False, "skills": ["-skills/b.md", "+skills/c.md"]}
    ]
    assert only(project, own).chosen == {"skills": ("skills/c.md", "skills/a/SKILL.md")}
    assert only(own).chosen == {"skills": ("skills/b.md", "skills/a/SKILL.md")}
