from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.packages.indexes import install_npm, uninstall_npm
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import InstallDeclined, InstallFailed, NpmSource, PackageLocation
from pi.coding.packages.staging import Arrival, Outcome, approve_all, staging
from tests.coding.packages.making import FakeNpm, make_package, snapshot
from tests.sampling import sampled


async def install(
    location: PackageLocation,
    programs: Programs,
    version: str = "",
    *,
    update: bool = False,
    force: bool = False,
) -> Outcome:
    source = NpmSource(name="@a/tips", version=version)
    with staging(location.base) as work:
        return await install_npm(
            source, location, programs, work, update=update, force=force, approve=approve_all
        )


async def test_a_package_is_installed_beside_existing_ones(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.2.0", "skills/x/SKILL.md")
    make_package(location.npm, "node_modules/other/index.js node_modules/.bin/x")
    (location.npm / "package.json").write_text('{"dependencies": {"other": "^1"}, "x": 1}')

    assert await install(location, programs) == Outcome(change="fetched", after="1.2.0")

    assert sorted(snapshot(location.npm)) == [
        "node_modules/.bin/x",
        "node_modules/@a/tips/package.json",
        "node_modules/@a/tips/skills/x/SKILL.md",
        "node_modules/other/index.js",
        "package.json",
    ]
    assert json.loads((location.npm / "package.json").read_text()) == {
        "dependencies": {"other": "^1", "@a/tips": "^1.2.0"},
        "x": 1,
    }
    assert await install(location, programs) == Outcome(
        change="current", before="1.2.0", after="1.2.0"
    )


async def test_npm_runs_no_scripts_and_gets_a_restricted_environment(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    environ = {**programs.environ, "NPM_CONFIG_REGISTRY": "http://127.0.0.1:9"}
    await install(location, replace(programs, environ=environ))

    (viewing, _), (installing, seen) = npm.calls()

    assert viewing[0] == "view"
    assert installing[0] == "install"
    assert {"--ignore-scripts", "--legacy-peer-deps", "--no-audit"} <= set(installing)
    assert "SECRET_TOKEN" not in seen
    assert seen["NPM_CONFIG_REGISTRY"] == "http://127.0.0.1:9"


async def test_an_update_installs_the_latest_version_unless_pinned(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    await install(location, programs)
    npm.publish("@a/tips", "1.1.0")

    assert await install(location, programs, "1.0.0", update=True) == Outcome(
        change="pinned", before="1.0.0", after="1.0.0"
    )
    assert await install(location, programs, "^1", update=True) == Outcome(
        change="pinned", before="1.0.0", after="1.0.0"
    )
    assert await install(location, programs, update=True) == Outcome(
        change="fetched", before="1.0.0", after="1.1.0"
    )
    assert await install(location, programs, "1.0.0", update=True) == Outcome(
        change="fetched", before="1.1.0", after="1.0.0"
    )


@pytest.mark.behaviour("package-installs-are-contained")
async def test_an_update_is_never_a_downgrade(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    npm.publish("@a/tips", "2.0.0")
    await install(location, programs)
    npm.withdraw("@a/tips", "2.0.0")

    assert await install(location, programs, update=True, force=True) == Outcome(
        change="kept", before="2.0.0", after="2.0.0"
    )


async def test_a_broken_package_is_installed_again(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    await install(location, programs)
    (location.npm / "node_modules" / "@a" / "tips" / "package.json").write_text("{half")

    assert await install(location, programs, update=True) == Outcome(
        change="fetched", after="1.0.0"
    )


async def test_a_failure_of_npm_changes_nothing(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    await install(location, programs)
    before = snapshot(location.base)
    npm.publish("@a/tips", "2.0.0")
    npm.break_down("npm error code E404\nnpm error 404 https://u:p@h.dev/x\nsee the log\n")

    with pytest.raises(InstallFailed) as caught:
        await install(location, programs, "2.0.0")

    assert caught.value.message == "npm install failed: code E404; 404 https://h.dev/x"
    assert snapshot(location.base) == before


async def test_a_missing_npm_program_is_an_error_with_a_hint(
    location: PackageLocation, programs: Programs
) -> None:
    with pytest.raises(InstallFailed) as caught:
        await install(location, replace(programs, npm_command=("no-such-npm",)))

    assert caught.value.explain() == (
        "no-such-npm was not found; packages of npm need it. "
        "Install Node.js, or set `npmCommand` in the settings."
    )


async def test_offline_is_passed_to_npm(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")

    await install(location, replace(programs, offline=True))

    assert all("--offline" in arguments for arguments, _ in npm.calls())


async def test_a_package_is_removed_and_others_are_kept(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    make_package(location.npm, "node_modules/other/index.js")
    await install(location, programs)

    for _ in range(2):
        with staging(location.base) as work:
            await uninstall_npm(NpmSource(name="@a/tips"), location, programs, work)

    assert sorted(snapshot(location.npm)) == ["node_modules/other/index.js", "package.json"]
    assert [arguments[0] for arguments, _ in npm.calls()] == ["view", "install", "uninstall"]


@pytest.mark.behaviour("package-installs-are-contained")
async def test_nothing_is_installed_through_a_link_out_of_the_location(
    npm: FakeNpm, location: PackageLocation, programs: Programs, tmp_path: Path
) -> None:
    npm.publish("@a/tips", "1.0.0")
    location.base.mkdir()
    location.npm.symlink_to(make_package(tmp_path / "outside", "x.txt"))

    with pytest.raises(InstallFailed, match="leads out of it"):
        await install(location, programs)

    assert snapshot(tmp_path / "outside") == {"x.txt": "{}\n"}


PLACE = "node_modules/@a/tips"
TARBALL = "https://registry.example/x.tgz"


@pytest.mark.parametrize(
    ("packages", "refused"),
    sampled(
        [
            ({PLACE: {"dependencies": {"x": "git+ssh://h.dev/x"}}}, "x@git+ssh://h.dev/x"),
            ({PLACE: {"dependencies": {"x": "owner/x"}}}, "x@owner/x"),
            (
                {PLACE: {"optionalDependencies": {"x": "https://h.dev/x.tgz"}}},
                "x@https://h.dev/x.tgz",
            ),
            ({PLACE: {"dependencies": {"x": "file:../x"}}, "../x": {}}, "x@file:../x"),
            ({PLACE: {"link": True, "resolved": "../x"}}, "../x"),
            ({PLACE: {"resolved": "git+ssh://h.dev/x#1"}}, "git+ssh://h.dev/x#1"),
        ],
        keep=2,
    ),
)
async def test_dependencies_outside_the_registry_are_rejected(
    npm: FakeNpm,
    location: PackageLocation,
    programs: Programs,
    packages: dict[str, object],
    refused: str,
) -> None:
    npm.publish("@a/tips", "1.0.0")
    npm.publish_lock("@a/tips", "1.0.0", packages)

    with pytest.raises(InstallFailed) as caught:
        await install(location, programs)

    assert caught.value.message.startswith(f'@a/tips requires "{refused}", which is not a name')
    assert not location.npm.exists()


async def test_all_packages_of_an_npm_install_are_submitted_for_approval_before_they_are_used(
    npm: FakeNpm, location: PackageLocation, programs: Programs
) -> None:
    npm.publish("@a/tips", "1.0.0")
    needs = {"lib": "^1.0.0", "other": "npm:@b/other@2"}
    one = {"version": "1.0.0", "resolved": TARBALL}
    packages = {PLACE: {**one, "dependencies": needs}, "node_modules/lib": one}
    npm.publish_lock("@a/tips", "1.0.0", packages)
    seen: list[Arrival] = []

    async def decline(arrivals: Sequence[Arrival]) -> None:
        seen.extend(arrivals)
        raise InstallDeclined("no")

    with pytest.raises(InstallDeclined), staging(location.base) as work:
        await install_npm(
            NpmSource(name="@a/tips"), location, programs, work,
            update=False, force=False, approve=decline,
        )  # fmt: skip

    assert seen == [Arrival(name="@a/tips", version="1.0.0"), Arrival(name="lib", version="1.0.0")]
    assert not location.npm.exists()


async def test_an_npmrc_of_a_project_is_not_used(
    npm: FakeNpm, programs: Programs, tmp_path: Path
) -> None:
    npm.publish("@a/tips", "1.0.0")
    for scope, kept in (("project", False), ("user", True)):
        location = PackageLocation(scope=scope, base=tmp_path / scope)  # type: ignore[arg-type]
        make_package(location.npm, ".npmrc")
        await install(location, programs)

        assert (location.npm / ".npmrc").exists() is kept
    assert all("--prefix" in arguments for arguments, _ in npm.calls())
