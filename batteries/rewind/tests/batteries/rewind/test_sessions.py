"""Rewind in real sessions, with a script in place of a model."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi.agent.tools.tool import ToolContext, ToolResult
from pi.ai.providers.faux import calls, says
from pi.batteries.rewind.adapter import extension
from pi.batteries.rewind.commands import BOTH, CONVERSATION, FILES, KEEP, NOTHING, OVERWRITE
from pi.batteries.rewind.recorder import ENTRY, Recorder
from pi.coding.session.opening import open_session
from pi.extension import ExtensionAPI, InputMode, Option, SubSession, make_tool
from pi.testing import FakeClock
from tests.base.processes.children import needs_posix_shell
from tests.batteries.rewind.project_fixture import tree_of
from tests.coding.extension_host.extension_session import (
    ExtensionFixture,
    FakeUI,
    extension_session,
)
from tests.modes.pipes import until

pytestmark = needs_posix_shell
ON: dict[str, Any] = {"rewind": {"enabled": True}}


class Answers(FakeUI):
    """A user who gives these answers to selections, and records all texts."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[str] = []
        self.text = ""

    async def select(self, title: str, options: Sequence[str | Option], **more: Any) -> Any:
        labels = [option.label if isinstance(option, Option) else option for option in options]
        self.asked.append(title)
        answer = self.answers.pop(0)
        if answer.isdecimal():
            return labels[int(answer)]
        assert answer in labels, labels
        return answer

    def set_editor_text(self, text: str) -> None:
        self.text = text

    @property
    def notes(self) -> str:
        return "\n".join(row[1] for row in self.seen if row[0] == "notify")


def entries(hosted: ExtensionFixture) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in hosted.session.info.entries()]


def roles(hosted: ExtensionFixture) -> list[str]:
    """The kinds of the messages; instructions are no part of the conversation."""
    kinds = [type(message).__name__ for message in hosted.session.messages]
    return [kind for kind in kinds if kind != "SystemMessage"]


async def test_off_by_default(tmp_path: Path) -> None:
    steps = (calls("write", path="a", content="1"), says("done"))
    ui = Answers()
    async with extension_session(tmp_path, extension, steps=steps, ui=ui) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("/rewind 1")

        assert not any(entry.get("customType") == ENTRY for entry in entries(hosted))
        assert "Rewind is off" in ui.notes
        assert hosted.failures == []


async def test_files_and_conversation_are_rewound_and_redone(tmp_path: Path) -> None:
    edits = [{"oldText": "one", "newText": "two"}]
    steps = (
        says("hi"),
        calls("edit", path="a", edits=edits),
        calls("write", path="new/b", content="new"),
        calls("bash", command="rm gone; chmod +x a; ln -s a link; mkdir empty; printf 3 > c"),
        says("done"),
    )
    ui = Answers(BOTH, "Restore")
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        root = hosted.fixture.cwd
        (root / "a").write_text("one")
        (root / "gone").write_text("here")
        await hosted.session.prompt("hello")
        before, roles_before = tree_of(root), roles(hosted)
        await hosted.session.prompt("change it")
        after, roles_after = tree_of(root), roles(hosted)
        await hosted.session.prompt("/rewind 1")

        assert tree_of(root) == before
        assert roles(hosted) == roles_before
        assert ui.text == "change it"

        await hosted.session.prompt("/redo")

        assert tree_of(root) == after
        assert roles(hosted) == roles_after
        assert hosted.failures == []
        assert "files restored" in ui.notes


@pytest.mark.parametrize(
    ("answer", "moves", "restores"),
    [(NOTHING, False, False), (FILES, False, True), (CONVERSATION, True, False)],
)
async def test_files_conversation_both_or_nothing_can_be_restored(
    tmp_path: Path, answer: str, moves: bool, restores: bool
) -> None:
    steps = (calls("bash", command="printf 1 > a"), says("done"))
    ui = Answers(answer)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("/rewind 1")

        assert (hosted.fixture.cwd / "a").exists() is not restores
        assert bool(roles(hosted)) is not moves
        assert ("Nothing was changed" in ui.notes) is (answer == NOTHING)


@pytest.mark.parametrize("answer", [NOTHING, KEEP, OVERWRITE])
async def test_manual_edits_are_never_lost_without_a_question(tmp_path: Path, answer: str) -> None:
    steps = (
        calls("bash", command="printf 1 > a; printf 1 > b"),
        says("done"),
        calls("bash", command="printf 2 > a"),
        says("done"),
    )
    ui = Answers(BOTH, answer)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        root = hosted.fixture.cwd
        await hosted.session.prompt("go")
        (root / "b").write_text("mine")
        (root / "notes").write_text("mine, too")
        await hosted.session.prompt("go on")
        (root / "later").write_text("also mine")
        await hosted.session.prompt("/rewind 2")
        contents = {path.name: path.read_text() for path in root.iterdir()}

        mine = {"b": "mine", "notes": "mine, too", "later": "also mine"}
        assert "changed outside of this session" in ui.asked[1]
        assert all(name in ui.asked[1] for name in mine)
        if answer == NOTHING:
            assert contents == mine | {"a": "2"}
        else:
            assert contents == (mine if answer == KEEP else {})
        if answer == KEEP:
            assert "1 file restored; 3 files left as they are" in ui.notes


async def test_messages_about_one_file_use_the_singular(tmp_path: Path) -> None:
    steps = (calls("bash", command="printf 1 > a; printf 1 > b"), says("done"))
    ui = Answers(BOTH, KEEP)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("go")
        (hosted.fixture.cwd / "b").write_text("mine")
        await hosted.session.prompt("/rewind list")
        await hosted.session.prompt("/rewind 1")

        assert re.search(r"^  1  \S.{11}  go {48}  2 files, 0 B\n", ui.notes)
        assert "1 file restored; 1 file left as it is" in ui.notes


async def test_commands_and_code_of_the_user_are_covered(tmp_path: Path) -> None:
    def kernel(pi: ExtensionAPI) -> None:
        async def run(text: str, ctx: Any) -> None:
            (pi.context.cwd / text).write_text("$")

        pi.add_input_mode("$", InputMode(label="kernel", run=run))

    ui = Answers(BOTH)
    steps = (says("one"), says("two"))
    async with extension_session(
        tmp_path, extension, kernel, steps=steps, settings=ON, ui=ui
    ) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.shell.run("printf x > shell")
        await hosted.session.prompt("$ cell")
        assert sorted(path.name for path in hosted.fixture.cwd.iterdir()) == ["cell", "shell"]
        await hosted.session.prompt("/rewind 1")

        assert list(hosted.fixture.cwd.iterdir()) == []
        assert len(ui.asked) == 1  # nothing here was changed outside


async def test_other_tools_and_nested_sessions_are_covered(tmp_path: Path) -> None:
    def others(pi: ExtensionAPI) -> None:
        async def run(params: dict[str, Any], ctx: ToolContext) -> ToolResult:
            (pi.context.cwd / "by-server").write_text("x")
            return ToolResult.of("done")

        schema = {"type": "object", "properties": {}}
        pi.register_tool(make_tool(name="mcp_x", description="x", params=schema, run=run))

        @pi.tool
        async def delegate() -> str:
            """Let a nested session work."""
            handle = await pi.sub_session(SubSession(prompt="work", tools=("bash", "write")))
            await handle.result()
            return "done"

    steps = (
        calls("mcp_x"),
        calls("delegate"),
        calls("bash", command="printf 1 > by-nested-command"),
        calls("write", path="by-nested-write", content="x"),
        says("nested is done"),
        says("done"),
    )
    ui = Answers(BOTH)
    async with extension_session(
        tmp_path, extension, others, steps=steps, settings=ON, ui=ui
    ) as hosted:
        await hosted.session.prompt("go")
        names = sorted(path.name for path in hosted.fixture.cwd.iterdir())
        await hosted.session.prompt("/rewind 1")

        assert names == ["by-nested-command", "by-nested-write", "by-server"]
        assert list(hosted.fixture.cwd.iterdir()) == []
        assert len(ui.asked) == 1
        assert hosted.failures == []


async def test_work_outside_of_a_run_is_covered_until_it_ends(tmp_path: Path) -> None:
    recorders: list[Recorder] = []

    def recording(pi: ExtensionAPI) -> None:
        recorders.append(extension(pi))

    ui = Answers(BOTH)
    steps = (says("one"), says("two"))
    async with extension_session(tmp_path, recording, steps=steps, settings=ON, ui=ui) as hosted:
        root = hosted.fixture.cwd
        await hosted.session.prompt("go")
        async with recorders[0].capturing("a merge"):
            (root / "early").write_text("x")
            await hosted.session.prompt("go on")
            (root / "late").write_text("x")
        await hosted.session.prompt("/rewind 2")

        assert list(root.iterdir()) == []
        assert len(ui.asked) == 1  # nothing here was changed outside


async def test_an_aborted_command_is_covered(tmp_path: Path) -> None:
    started = tmp_path / "started"
    steps = (calls("bash", command=f"printf 1 > a; touch {started}; sleep 600"),)
    ui = Answers(BOTH)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        running = asyncio.ensure_future(hosted.session.prompt("go"))
        await until(started.exists)
        await hosted.session.abort()
        await running
        await hosted.session.prompt("/rewind 1")

        assert not (hosted.fixture.cwd / "a").exists()
        assert len(ui.asked) == 1


async def test_files_outside_and_ignored_files_that_tools_write_are_restored(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("old")
    steps = (
        calls("write", path=str(outside), content="new"),
        calls("write", path="build/made", content="new"),
        calls("write", path="build/kept", content="new"),
        calls("bash", command="printf x > build/by-command"),
        says("done"),
    )
    ui = Answers(BOTH)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        root = hosted.fixture.cwd
        (root / ".gitignore").write_text("build/\n")
        (root / "build").mkdir()
        (root / "build/kept").write_text("old")
        await hosted.session.prompt("go")
        await hosted.session.prompt("/rewind 1")

        assert outside.read_text() == "old"
        assert (root / "build/kept").read_text() == "old"
        assert not (root / "build/made").exists()
        assert (root / "build/by-command").exists()  # ignored, and not written by a tool


async def test_an_untrusted_project_is_not_read(tmp_path: Path) -> None:
    steps = (
        calls("write", path="a", content="new"),
        calls("bash", command="printf x > b"),
        says("done"),
    )
    ui = Answers(BOTH)
    cwd = tmp_path / "home" / "project"
    (cwd / ".pi").mkdir(parents=True)
    (cwd / ".pi" / "settings.json").write_text("{}")
    secret = cwd / "secret"
    secret.write_text("a secret of the project")
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        assert not hosted.session.workspace.is_trusted
        await hosted.session.prompt("go")
        await hosted.session.prompt("/rewind 1")
        stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*.pack") if path.is_file())

        assert b"a secret" not in stored
        assert not (hosted.fixture.cwd / "a").exists()
        assert (hosted.fixture.cwd / "b").exists()
        assert "not trusted" in ui.notes


async def test_rewind_works_without_git(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "bash", "rm", "mkdir"):
        for folder in os.environ["PATH"].split(os.pathsep):
            if (Path(folder) / name).exists():
                (programs / name).symlink_to(Path(folder) / name)
                break
    steps = (calls("bash", command="command -v git; printf 1 > a"), says("done"))
    ui = Answers(BOTH)
    async with extension_session(
        tmp_path, extension, steps=steps, settings=ON, ui=ui, environ={"PATH": str(programs)}
    ) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("/rewind 1")

        assert not (hosted.fixture.cwd / "a").exists()


@pytest.mark.parametrize("answer", ["Finish it", "Take it back"])
async def test_an_interrupted_rewind_is_recovered_in_the_next_session(
    tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (calls("bash", command="printf 1 > a; printf 1 > b"), says("done"))

    def remove(path: Path, state: Any) -> None:
        if path.name == "b":
            raise OSError(5, "Input/output error")
        path.unlink()

    ui = Answers(BOTH)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("go")
        file, root = hosted.session.entries.log.file, hosted.fixture.cwd
        assert file is not None
        with monkeypatch.context() as broken:
            broken.setattr("pi.batteries.rewind.states.remove", remove)
            await hosted.session.prompt("/rewind 1")
        assert [(root / name).exists() for name in "ab"] == [False, True]
        assert "Input/output error" in ui.notes

    ui = Answers(answer)
    async with extension_session(
        tmp_path,
        extension,
        settings=ON,
        ui=ui,
        open_log=lambda location: open_session(file, location),
    ) as hosted:
        await hosted.session.prompt("/rewind 1")
        await hosted.session.prompt("/rewind recover")
        is_finished = answer == "Finish it"

        assert "An earlier rewind was interrupted" in ui.notes
        assert [(root / name).exists() for name in "ab"] == [not is_finished] * 2
        assert ui.text == ("go" if is_finished else "")
        assert bool(roles(hosted)) is not is_finished


async def test_a_prompt_after_an_interrupted_rewind_shows_a_notice_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(path: Path, state: Any) -> None:
        raise OSError(5, "Input/output error")

    steps = (calls("bash", command="printf 1 > a"), says("done"))
    ui = Answers(BOTH)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("go")
        file = hosted.session.entries.log.file
        assert file is not None
        monkeypatch.setattr("pi.batteries.rewind.states.remove", remove)
        await hosted.session.prompt("/rewind 1")

    ui = Answers()
    async with extension_session(
        tmp_path,
        extension,
        steps=(says("more"), says("again")),
        settings=ON,
        ui=ui,
        open_log=lambda location: open_session(file, location),
    ) as hosted:
        await hosted.session.prompt("go on")
        await hosted.session.prompt("and on")
        await hosted.session.prompt("/rewind status")  # waits for what runs in the background

        assert ui.notes.count("A rewind of this project was interrupted. Use /rewind recover.") == 1


async def test_a_fork_can_be_rewound_to_before_the_fork_point(tmp_path: Path) -> None:
    steps = (
        calls("bash", command="printf 1 > a"),
        says("one"),
        calls("bash", command="printf 2 > a"),
        says("two"),
    )
    ui = Answers(BOTH)
    async with extension_session(tmp_path, extension, steps=steps, settings=ON, ui=ui) as hosted:
        await hosted.session.prompt("first")
        await hosted.session.prompt("second")
        await hosted.session.fork(hosted.session.info.fork_points()[-1].entry_id)
        await hosted.session.prompt("/rewind 2")  # 1 is where the fork began

        assert not (hosted.fixture.cwd / "a").exists()
        assert ui.text == "first"
        assert len(ui.asked) == 1


async def test_changes_between_two_commands_are_not_attributed_to_them(tmp_path: Path) -> None:
    recorders: list[Recorder] = []
    clocks: list[FakeClock] = []

    def recording(pi: ExtensionAPI) -> None:
        recorders.append(extension(pi))

    def user(pi: ExtensionAPI) -> None:
        async def run(params: dict[str, Any], ctx: ToolContext) -> ToolResult:
            # Stands for the user, who edits while the model works.
            await recorders[0].settled()
            (pi.context.cwd / "mine").write_text("mine")
            await clocks[0].advance(1)
            return ToolResult.of("done")

        schema = {"type": "object", "properties": {}}
        pi.register_tool(
            make_tool(name="wait", description="x", params=schema, run=run, approval="read")
        )

    steps = (
        calls("bash", command="printf 1 > a"),
        calls("wait"),
        calls("bash", command="printf 2 > a"),
        says("done"),
    )
    ui = Answers(BOTH, KEEP)
    async with extension_session(
        tmp_path, recording, user, steps=steps, settings=ON, ui=ui
    ) as hosted:
        clocks.append(hosted.fixture.clock)
        await hosted.session.prompt("go")
        await hosted.session.prompt("/rewind 1")

        assert [path.name for path in hosted.fixture.cwd.iterdir()] == ["mine"]
        assert "mine" in ui.asked[1]
