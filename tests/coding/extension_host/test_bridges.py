from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Reply, says
from pi.ai.request import Call
from pi.coding.compaction.events import CompactionResult
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.stage import Play, playing
from tests.coding.runtime.stage import Stage

TRUSTS_ALL = """
def extension(pi):
    pi.on("project_trust", lambda event, ctx: {"trusted": "yes"})
"""
SMALL = {"compaction": {"keepRecentTokens": 1, "reserveTokens": 100}}


def always(call: Call) -> Reply:
    return says("## Goal\nTo know more.\n## Next Steps\nAsk.")


async def talk(play: Play) -> None:
    for _ in range(3):
        await play.session.prompt("say something " * 20)


async def test_a_compaction_may_come_from_an_extension(tmp_path: Path) -> None:
    heard: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("session_before_compact")
        async def mine(event: Any, ctx: Any) -> Any:
            assert (event.custom_instructions, event.reason) == ("short", "manual")
            assert event.branch_entries
            result = CompactionResult(
                summary="mine",
                first_kept_id=event.preparation.first_kept_id,
                tokens_before=event.preparation.tokens_before,
            )
            return {"compaction": result}

        pi.on("session_compact", lambda event, ctx: heard.append(event))

    steps = (says("one"), says("two"), says("three"))
    async with playing(tmp_path, extension, steps=steps, settings=SMALL) as play:
        await talk(play)
        result = await play.session.compact("short")

    assert result.summary == "mine"
    assert [(each.compaction_entry.summary, each.from_extension) for each in heard] == [
        ("mine", True)
    ]


async def test_a_compaction_may_be_a_dict_with_the_names_of_the_original(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("session_before_compact")
        def mine(event: Any, ctx: Any) -> Any:
            preparation = event.preparation
            return {
                "compaction": {
                    "summary": f"{len(preparation.messages_to_summarize)} messages",
                    "first_kept_entry_id": preparation.first_kept_entry_id,
                    "tokens_before": preparation.tokens_before,
                    "details": {"mine": True},
                }
            }

    steps = (says("one"), says("two"), says("three"))
    async with playing(tmp_path, extension, steps=steps, settings=SMALL) as play:
        await talk(play)
        result = await play.session.compact("")

    assert (result.summary, result.details) == ("5 messages", {"mine": True})
    assert play.failures == []


async def test_a_compaction_may_be_cancelled(tmp_path: Path) -> None:
    heard: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("session_before_compact", lambda event, ctx: {"cancel": True})
        pi.on("session_compact_failed", lambda event, ctx: heard.append(event.aborted))

    steps = (says("one"), says("two"), says("three"))
    async with playing(tmp_path, extension, steps=steps, settings=SMALL) as play:
        await talk(play)
        with pytest.raises(Exception, match="cancelled"):
            await play.session.compact()

    assert heard == [True]


async def test_the_prompt_of_a_summary_can_be_extended(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.on("session_compacting", lambda event, ctx: {"context": ["open task: 42"]})
        pi.on("session.compacting", lambda event, ctx: {"context": ["open task: 43"]})

    async with playing(tmp_path, extension, steps=(always,), settings=SMALL) as play:
        await talk(play)
        await play.session.compact()
        asked = str(play.stage.provider.requests[3:])

    assert "open task: 42" in asked
    assert "open task: 43" in asked


async def test_a_move_in_the_tree_can_be_cancelled_and_is_emitted(tmp_path: Path) -> None:
    heard: list[Any] = []
    answers = [{"cancel": True}, {"label": "here"}]

    def extension(pi: ExtensionAPI) -> None:
        pi.on("session_before_tree", lambda event, ctx: answers.pop(0))
        pi.on("session_tree", lambda event, ctx: heard.append(event.old_leaf_id))

    async with playing(tmp_path, extension, steps=(says("one"),)) as play:
        await play.session.prompt("hello")
        leaf = play.session.entries.log.leaf_id
        (person,) = play.session.facts.fork_points()

        assert (await play.session.tree.go_to(person.entry_id)).cancelled
        assert not (await play.session.tree.go_to(person.entry_id)).cancelled
        labels = play.session.entries.log.labels

    assert heard == [leaf]
    assert labels[person.entry_id].label == "here"


async def test_an_extension_of_the_user_decides_about_trust(tmp_path: Path) -> None:
    asked: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("project_trust")
        def trust(event: Any, ctx: Any) -> Any:
            asked.append(f"{event.cwd} {ctx.cwd} {ctx.mode} {ctx.has_ui}")
            return {"trusted": "yes"}

    (tmp_path / "home/project").mkdir(parents=True)
    (tmp_path / "home/project/AGENTS.md").write_text("Be brief.")
    async with playing(tmp_path, extension) as play:
        assert play.session.workspace.is_trusted
        assert asked == [f"{play.stage.cwd} {play.stage.cwd} print False"]


async def test_a_project_extension_cannot_decide_about_trust(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    stage.write("project/.pi/extensions/bold.py", TRUSTS_ALL)
    stage.write("other/AGENTS.md", "Obey me.")
    async with await stage.open(cwd=stage.home / "other") as other:
        await other.prompts.prompt("one")
        file = other.entries.log.file
    assert file is not None
    stage.write(".pi/agent/trust.json", f'{{"{stage.cwd}": true}}')
    async with await stage.open() as session:
        assert [info.name for info in session.extensions.infos()] == ["bold"]
        await session.sessions.switch(file)

        assert session.cwd == stage.home / "other"
        assert "Obey me." not in str(session.prompts.sections())


async def test_extensions_of_the_user_decide_about_every_directory(tmp_path: Path) -> None:
    stage = Stage(tmp_path, says("a"))
    stage.write("other/AGENTS.md", "Be kind.")
    async with await stage.open(cwd=stage.home / "other") as other:
        await other.prompts.prompt("one")
        file = other.entries.log.file
    assert file is not None
    stage.write(".pi/agent/extensions/mine.py", TRUSTS_ALL)
    async with await stage.open() as session:
        await session.sessions.switch(file)

        assert "Be kind." in str(session.prompts.sections())
