"""Rewind and isolated agents: merged changes are undone with the prompt that caused them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.batteries.rewind.adapter import extension as rewind
from pi.batteries.rewind.commands import BOTH
from tests.base.processes.children import needs_posix_shell
from tests.batteries.rewind.project_fixture import tree_of
from tests.batteries.rewind.test_sessions import Answers
from tests.batteries.subagents.agent_session import Script, agent_session
from tests.batteries.subagents.test_isolation import git, make_repository

pytestmark = needs_posix_shell
WORK = "echo new > added; mkdir deep; echo x > deep/file; rm gone; echo more >> list; chmod +x list"


@pytest.mark.full
@pytest.mark.parametrize("merge", ["patch", "branch"])
async def test_a_rewind_over_a_merged_task_restores_the_files(tmp_path: Path, merge: str) -> None:
    folder = make_repository(tmp_path)
    (folder / "gone").write_text("uncommitted\n")
    (folder / "mine").write_text("mine\n")
    if merge == "branch":  # files of the user must not be in the way of commits
        git(folder, "add", "gone")
        git(folder, "-c", "core.hooksPath=/nowhere", "commit", "--quiet", "-m", "second")
    before = tree_of(folder)
    script = Script(
        main=[calls("task", task="x", name="a", isolated=True), says("done")],
        a=[calls("bash", command=WORK), calls("yield", data="done")],
    )
    ui = Answers(BOTH, "Restore")
    settings: dict[str, Any] = {"rewind": {"enabled": True}}
    async with agent_session(
        tmp_path,
        script,
        rewind,
        settings=settings,
        task={"isolation": {"merge": merge}},
        ui=ui,
        approve=True,
    ) as (hosted, agents):
        await hosted.session.prompt("go")
        node = agents.tree.get("a")
        assert node is not None
        await node.wait()
        assert node.is_merged, node.notes
        await hosted.session.wait_for_idle()
        after = tree_of(folder)
        assert (folder / "added").read_text() == "new\n"
        assert not (folder / "gone").exists()
        assert (folder / "list").stat().st_mode & 0o100

        await hosted.session.prompt("/rewind 1")
        assert tree_of(folder) == before
        assert len(ui.asked) == 1  # nothing here was changed outside
        await hosted.session.prompt("/redo")
        assert tree_of(folder) == after
        assert hosted.failures == []
