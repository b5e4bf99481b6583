from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.agent.tools.tool import ToolResult
from pi.coding.blobs.artifacts import Artifacts, TextFolder
from pi.coding.extension_host.api.storage import ExtensionArtifacts

LONG = "".join(f"line {number}\n" for number in range(1, 3001))


def test_artifacts_are_stored_and_read_by_number(tmp_path: Path) -> None:
    artifacts = ExtensionArtifacts(Artifacts(TextFolder(tmp_path)))

    assert [artifacts.save("a", "one"), artifacts.save("b", "two")] == ["0", "1"]
    assert (artifacts.read("1"), artifacts.read(7), artifacts.numbers()) == ("two", None, [0, 1])
    assert artifacts.path(0) == tmp_path / "0.a.log"


def test_a_short_output_is_not_stored_as_an_artifact(tmp_path: Path) -> None:
    artifacts = ExtensionArtifacts(Artifacts(TextFolder(tmp_path)))
    with artifacts.sink("python") as sink:
        sink.write("one\n")
        sink.write("größer\n".encode()[:3])
        sink.write("größer\n".encode()[3:])

    assert (sink.text, sink.number, artifacts.numbers()) == ("one\ngrößer\n", None, [])


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_long_output_is_stored_as_an_artifact_and_its_end_is_shown(
    tmp_path: Path, on_disk: bool
) -> None:
    artifacts = ExtensionArtifacts(Artifacts(TextFolder(tmp_path if on_disk else None)))
    with artifacts.sink("python") as sink:
        for line in LONG.splitlines(keepends=True):
            sink.write(line)
        assert "Showing lines 1001-3000 of 3000" in sink.text
    sink.close()

    file = artifacts.path(0)
    assert file is not None
    assert (file.parent == tmp_path) == on_disk
    notice = f"[Showing lines 1001-3000 of 3000. Full output: {file}]"
    last = LONG[LONG.index("line 1001\n") :].rstrip("\n")
    assert sink.text == f"{last}\n\n{notice}"
    assert (sink.number, artifacts.read(0)) == ("0", LONG)
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600


async def test_a_sink_shows_the_output_while_it_arrives(tmp_path: Path) -> None:
    artifacts = ExtensionArtifacts(Artifacts(TextFolder(tmp_path)))
    updates: list[ToolResult] = []
    with artifacts.sink("bash", update=updates.append, harmless=True) as sink:
        sink.write("\x1b[31mone\x1b[0m\n")
        first = list(updates)
        sink.write(LONG)

    assert first == [ToolResult.of("one\n", details={})]
    assert sink.details["artifactId"] == "0"
    assert sink.details["truncation"]["totalLines"] == 3001
    assert updates[-1].details == sink.details
