from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.base.records import replace
from pi.coding.extension_host.discovery.finding import (
    Candidate,
    ExtensionOptions,
    read_manifests,
)
from pi.coding.extension_host.discovery.manifest import Manifest
from pi.coding.extension_host.dormant import DormantExtensions
from pi.coding.extension_host.errors import ExtensionFailed
from pi.coding.resources.sources import SourceInfo
from pi.coding.session.entries import Custom
from tests.coding.extension_host.deferred import kit
from tests.coding.runtime.session_fixture import SessionFixture


def candidate(name: str, **manifest: object) -> Candidate:
    return Candidate(
        name=name,
        rank="user",
        source=SourceInfo(path=f"<{name}>"),
        target=f"{name}:extension",
        manifest=Manifest(**manifest),  # type: ignore[arg-type]
    )


NAP = candidate("nap", commands={"nap": "rest a little"}, activate=("command:nap", "entry:nap"))
DOZE = candidate("doze", activate=("command:doze", "command:nap"))
FAR = candidate("far", commands={"far": "elsewhere"}, activate=("command:far",), modes=("rpc",))


def test_commands_of_manifests_are_listed_and_duplicates_are_numbered() -> None:
    sleeping = DormantExtensions({}, "print")

    assert sleeping.defer_all(read_manifests([NAP, FAR]))
    assert [(name, command.description) for name, command in sleeping.commands.listed()] == [
        ("nap", "rest a little")
    ]
    assert sleeping.defer_all(read_manifests([DOZE]))
    assert [name for name, _ in sleeping.commands.listed()] == ["nap:1", "doze", "nap:2"]
    match = sleeping.commands.find("/doze well")
    assert match is not None
    assert (match[0].name, match[0].source, match[1]) == ("doze", DOZE.source, "well")


def test_a_command_name_in_a_manifest_may_start_with_a_slash() -> None:
    sleeping = DormantExtensions({}, "print")
    sleeping.defer_all(
        read_manifests([candidate("nap", commands={"/nap": "rest"}, activate=("command:/nap",))])
    )

    assert [(name, command.description) for name, command in sleeping.commands.listed()] == [
        ("nap", "rest")
    ]


@pytest.mark.parametrize(
    "restless",
    [
        candidate("start"),
        candidate("flag", activate=("flag:fast",)),
        candidate("call", activate=("tool:bash",)),
        candidate("future", api=99, activate=("command:x",)),
    ],
    ids=lambda each: each.name,
)
def test_no_extension_is_deferred_if_one_cannot_be(restless: Candidate) -> None:
    sleeping = DormantExtensions({"fast": True}, "print")

    assert not sleeping.defer_all(read_manifests([NAP, restless]))
    assert not sleeping
    assert sleeping.commands.listed() == []


def test_the_first_of_duplicate_candidates_is_used() -> None:
    sleeping = DormantExtensions({}, "print")
    sleeping.defer_all(read_manifests([NAP, replace(NAP, rank="explicit")]))
    sleeping.defer_all(read_manifests([replace(NAP, rank="project")]))

    assert [extension.candidate for extension in sleeping.activate_all()] == [NAP]


def test_activated_candidates_are_no_longer_deferred() -> None:
    sleeping = DormantExtensions({}, "print")
    sleeping.defer_all(read_manifests([NAP, DOZE]))

    assert [extension.candidate for extension in sleeping.activate_all()] == [NAP, DOZE]
    assert (sleeping.activate_all(), sleeping.commands.listed()) == ([], [])


TWICE = """\
pi.get_flag("loud")

@pi.command("plan")
def plan(args, ctx):
    pi.append_entry("planned", [args, pi.get_flag("loud"), pi.get_flag("quiet")])
"""
"""An extension whose code reads a flag before it registers the command of its manifest."""

DECLARED = """\
activate = ["setting:plan.enabled", "command:plan"]
commands = { plan = "make a plan" }

[flags.loud]
type = "string"

[flags.quiet]
type = "boolean"
"""


@pytest.mark.parametrize("settings", [{}, {"plan": {"enabled": True}}], ids=["command", "setting"])
async def test_a_command_of_a_manifest_is_one_command_however_its_extension_is_loaded(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    fixture = SessionFixture(tmp_path)
    kit(fixture, DECLARED, TWICE)
    flags = ExtensionOptions(flags={"loud": "very", "quiet": True})
    session = await fixture.open(settings=settings, extensions=flags)
    await session.start()
    assert [command.name for command in session.info.commands()] == ["plan"]

    await session.prompt("/plan a house")

    assert [command.name for command in session.info.commands()] == ["plan"]
    assert [entry.data for entry in session.entries.log.entries() if isinstance(entry, Custom)] == [
        ["a house", "very", True]
    ]
    await session.close()


async def test_a_command_that_its_extension_does_not_register_names_the_manifest(
    tmp_path: Path,
) -> None:
    fixture = SessionFixture(tmp_path)
    path = kit(fixture, 'activate = ["command:plan"]', "pass")
    session = await fixture.open()
    failures: list[Any] = []
    session.subscribe(failures.append, kinds=(ExtensionFailed,))
    await session.start()

    await session.prompt("/plan")

    assert [failure.error for failure in failures] == [f"{path} has no command /plan."]
    await session.close()
