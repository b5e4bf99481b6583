"""Batteries cost nothing until they are used, and are found like third-party packages."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.mock_process import mock_server
from pi.coding.extension_host.discovery.entry_points import PARSED, installed
from pi.coding.extension_host.discovery.manifest import SUPPORTED_APIS, can_defer, read_manifest
from pi.coding.port.ui import Mode
from pi.coding.settings.table import SETTINGS
from scripts.workspace import ROOT, battery_manifests, members, sources
from tests.cli.program import Program
from tests.sampling import sampled
from tests.screens.terminal_user import needs_pty, terminal_user

SOURCES = sources(ROOT)
MANIFESTS = battery_manifests(ROOT)
POINTS: dict[str, str] = {}
for member in members(ROOT):
    project = tomllib.loads((member / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    POINTS |= project.get("entry-points", {}).get("pi.extensions", {})
REPORTER = """\
import json, sys

def extension(pi):
    @pi.on("session_shutdown")
    def report(event, ctx):
        loaded = [name for name in sys.modules if name.startswith(("pi.batteries.", "pi.tui"))]
        sys.stderr.write(json.dumps(sorted(loaded)) + "\\n")
"""
FILE_REPORTER = """\
import json, os, sys

def extension(pi):
    @pi.on("session_shutdown")
    def report(event, ctx):
        loaded = [name for name in sys.modules if name.startswith("pi.batteries.")]
        with open(os.environ["REPORT"], "w") as file:
            json.dump(loaded, file)
"""


def install(folder: Path) -> Path:
    """A folder to import from in which the batteries are declared as entry points."""
    metadata = folder / "batteries_of_pi-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: batteries-of-pi\n")
    lines = "".join(f"{name} = {target}\n" for name, target in POINTS.items())
    (metadata / "entry_points.txt").write_text(f"[pi.extensions]\n{lines}")
    return folder


def test_the_parsed_manifests_are_those_of_the_files() -> None:
    texts = [file.read_text(encoding="utf-8") for file in MANIFESTS]
    expected = {text: tomllib.loads(text) for text in texts}
    if os.environ.get("WRITE_SNAPSHOTS"):
        PARSED.write_text(
            json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )

    renew = f"WRITE_SNAPSHOTS=1 ./test tests/batteries/{Path(__file__).name} writes {PARSED.name}"
    assert json.loads(PARSED.read_text(encoding="utf-8")) == expected, renew


def test_only_a_changed_manifest_is_parsed_again(tmp_path: Path) -> None:
    for name in ("ask", "todo"):
        (tmp_path / "pi" / "batteries" / name).mkdir(parents=True)
    copies = tmp_path / "pi" / "batteries"
    todo = next(file for file in MANIFESTS if file.parent.name == "todo")
    (copies / "todo" / "pi.toml").write_bytes(todo.read_bytes())
    (copies / "ask" / "pi.toml").write_text('description = "changed"\n')

    found = installed(tmp_path, [str(tmp_path), str(install(tmp_path / "installed"))])

    shown = {each.name: each.manifest.description for each in found if each.manifest}
    assert (shown["ask"], shown["todo"]) == (
        "changed",
        read_manifest(todo.parent).description,
    )


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Program]:
    program = Program.below(tmp_path, PYTHONPATH=str(install(tmp_path / "installed")))
    program.environ["PI_OFFLINE"] = "1"
    with mock_server() as server:
        program.use_server(server.port)
        yield program


def test_each_manifest_has_activation_events(tmp_path: Path) -> None:
    found = installed(tmp_path, [*map(str, (install(tmp_path / "installed"), *SOURCES))])

    assert {each.name: (each.rank, each.target) for each in found} == {
        name: ("bundled", target) for name, target in POINTS.items()
    }
    for each in found:
        assert each.declared().api in SUPPORTED_APIS
        assert "session" not in each.declared().activate


@pytest.mark.parametrize("folder", MANIFESTS, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("mode", ["print", "json", "rpc", "tui"])
def test_no_battery_needs_the_extension_host_before_it_is_used(folder: Path, mode: Mode) -> None:
    """The host costs ten times what all batteries may add to a start."""
    assert can_defer(read_manifest(folder.parent), {}, mode)


def test_every_folder_is_declared_and_has_a_manifest() -> None:
    folders = [path.parent for path in MANIFESTS]
    declared = sorted(target.split(".")[2] for target in POINTS.values())

    assert declared == sorted(folder.name for folder in folders)
    assert sorted(read_manifest(folder).name for folder in folders) == sorted(POINTS)


@pytest.mark.parametrize("mode", sampled(["text", "json", "rpc"], keep=1))
def test_no_unused_battery_is_imported(cli: Program, mode: str) -> None:
    path = cli.write("reporter.py", REPORTER)
    words = ("--mode", mode, "--model", "mock/echo-3", "-e", str(path))

    ended = cli.run(*words) if mode == "rpc" else cli.run("-p", *words, "hello")

    assert (ended.code, ended.err) == (0, "[]\n")


@pytest.mark.full
@pytest.mark.slow
@needs_pty
def test_no_unused_battery_is_imported_by_the_screen(cli: Program, tmp_path: Path) -> None:
    path = cli.write("reporter.py", FILE_REPORTER)
    cli.environ["REPORT"] = str(tmp_path / "report.json")
    with terminal_user(cli, "--model", "mock/echo-3", "-e", str(path)) as user:
        user.sees("(mock) echo-3")
        user.types("hello\r")
        user.sees("The quick brown")
        assert user.leaves() == 0

    assert json.loads((tmp_path / "report.json").read_text()) == []


@pytest.mark.full
def test_a_flag_of_a_battery_loads_only_that_battery(cli: Program) -> None:
    path = cli.write("reporter.py", REPORTER)
    words = ("-p", "--model", "mock/echo-3", "-e", str(path), "--timebox", "turns:3", "hello")

    ended = cli.run(*words)

    assert (ended.code, ended.out) == (0, "The quick brown\n")
    loaded = json.loads(ended.err.splitlines()[-1])
    assert {name.split(".")[2] for name in loaded} == {"timebox"}


@pytest.mark.full
def test_commands_and_flags_are_listed_without_loading_a_battery(cli: Program) -> None:
    path = cli.write("reporter.py", REPORTER)
    asked = '{"id": "1", "type": "get_commands"}\n'

    ended = cli.run("--mode", "rpc", "--model", "mock/echo-3", "-e", str(path), piped=asked)

    (answer,) = [each for each in map(json.loads, ended.out.splitlines()) if "id" in each]
    manifests = [read_manifest(path.parent) for path in MANIFESTS]
    declared = sorted(name for manifest in manifests for name in manifest.commands)
    assert sorted(each["name"] for each in answer["data"]["commands"]) == declared
    assert ended.err == "[]\n"
    assert "Extension timebox\n  --timebox <value>" in cli.run("--help").out


def test_the_no_extensions_flag_disables_all_batteries(cli: Program) -> None:
    ended = cli.run("-ne", "--timebox", "5m", "-p", "--model", "mock/echo-3", "hello")

    assert ended == (1, "", "Error: Unknown option: --timebox\nSee `pi --help`.\n")


@pytest.mark.full
def test_an_outdated_index_is_rebuilt(cli: Program) -> None:
    cli.run("--help")
    index = cli.agent_dir / "extension-index.json"
    first = json.loads(index.read_bytes())

    entry_points = Path(cli.environ["PYTHONPATH"]) / "batteries_of_pi-1.0.dist-info"
    entry_points.rename(entry_points.with_name("batteries_of_pi-1.1.dist-info"))
    os.utime(entry_points.parent, (1, 1))
    cli.run("--help")

    assert json.loads(index.read_bytes())["key"] != first["key"]


def test_exactly_the_settings_that_load_batteries_take_effect_at_once() -> None:
    """``switches.change`` loads and unloads by these triggers; the table tells users."""
    manifests = [read_manifest(path.parent) for path in MANIFESTS]
    triggers = {name for manifest in manifests for name in manifest.triggers("setting")}
    rows = {setting.name: setting for setting in SETTINGS}

    assert triggers <= rows.keys()
    # The battery loads at once, but what this setting is about happens at a start.
    assert rows["plan.defaultOnStartup"].applies == "start"
    others = triggers - {"plan.defaultOnStartup"}
    assert [name for name in others if rows[name].applies != "at once"] == []
    marked = {name for name, setting in rows.items() if setting.loads_extensions}
    assert marked <= {*triggers, "batteries"}
