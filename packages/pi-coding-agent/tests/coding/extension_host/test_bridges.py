from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import Reply, says
from pi.ai.request import Call
from pi.coding.compaction.events import CompactionResult
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.coding.runtime.session_fixture import SessionFixture

TRUSTS_ALL = """
def extension(pi):
    pi.on("project_trust", lambda event, ctx: {"trusted": "yes"})
"""
SMALL = {"compaction": {"keepRecentTokens": 1, "reserveTokens": 100}}


def always(call: Call) -> Reply:
    return says("## Goal\nTo know more.\n## Next Steps\nAsk.")


async def talk(hosted: ExtensionFixture) -> None:
    for _ in range(3):
        await hosted.session.prompt("say something " * 20)


async def test_an_extension_can_provide_the_compaction(tmp_path: Path) -> None:
    received: list[Any] = []

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

        pi.on("session_compact", lambda event, ctx: received.append(event))

    steps = (says("one"), says("two"), says("three"))
    async with extension_session(tmp_path, extension, steps=steps, settings=SMALL) as hosted:
        await talk(hosted)
        result = await hosted.session.compact("short")

    assert result.summary == "mine"
    assert [(event.compaction_entry.summary, event.from_extension) for event in received] == [
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
    async with extension_session(tmp_path, extension, steps=steps, settings=SMALL) as hosted:
        await talk(hosted)
        result = await hosted.session.compact("")

    assert (result.summary, result.details) == ("5 messages", {"mine": True})
    assert hosted.failures == []


async def test_a_compaction_may_be_cancelled(tmp_path: Path) -> None:
    received: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.on("session_before_compact", lambda event, ctx: {"cancel": True})
        pi.on("session_compact_failed", lambda event, ctx: received.append(event.aborted))

    steps = (says("one"), says("two"), says("three"))
    async with extension_session(tmp_path, extension, steps=steps, settings=SMALL) as hosted:
        await talk(hosted)
        with pytest.raises(Exception, match="cancelled"):
            await hosted.session.compact()

    assert received == [True]


async def test_the_prompt_of_a_summary_can_be_extended(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.on("session_compacting", lambda event, ctx: {"context": ["open task: 42"]})
        pi.on("session.compacting", lambda event, ctx: {"context": ["open task: 43"]})

    async with extension_session(tmp_path, extension, steps=(always,), settings=SMALL) as hosted:
        await talk(hosted)
        await hosted.session.compact()
        requests = str(hosted.fixture.provider.requests[3:])

    assert "open task: 42" in requests
    assert "open task: 43" in requests


async def test_a_move_in_the_tree_can_be_cancelled_and_is_emitted(tmp_path: Path) -> None:
    received: list[Any] = []
    answers = [{"cancel": True}, {"label": "here"}]

    def extension(pi: ExtensionAPI) -> None:
        pi.on("session_before_tree", lambda event, ctx: answers.pop(0))
        pi.on("session_tree", lambda event, ctx: received.append(event.old_leaf_id))

    async with extension_session(tmp_path, extension, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("hello")
        leaf = hosted.session.entries.log.leaf_id
        (fork_point,) = hosted.session.info.fork_points()

        assert (await hosted.session.tree.go_to(fork_point.entry_id)).cancelled
        assert not (await hosted.session.tree.go_to(fork_point.entry_id)).cancelled
        labels = hosted.session.entries.log.labels

    assert received == [leaf]
    assert labels[fork_point.entry_id].label == "here"


async def test_an_extension_of_the_user_decides_about_trust(tmp_path: Path) -> None:
    questions: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("project_trust")
        def trust(event: Any, ctx: Any) -> Any:
            questions.append(f"{event.cwd} {ctx.cwd} {ctx.mode} {ctx.has_ui}")
            return {"trusted": "yes"}

    (tmp_path / "home/project").mkdir(parents=True)
    (tmp_path / "home/project/AGENTS.md").write_text("Be brief.")
    async with extension_session(tmp_path, extension) as hosted:
        assert hosted.session.workspace.is_trusted
        assert questions == [f"{hosted.fixture.cwd} {hosted.fixture.cwd} print False"]


async def test_a_project_extension_cannot_decide_about_trust(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    fixture.write("project/.pi/extensions/bold.py", TRUSTS_ALL)
    fixture.write("other/AGENTS.md", "Obey me.")
    async with await fixture.open(cwd=fixture.home / "other") as other:
        await other.prompts.prompt("one")
        file = other.entries.log.file
    assert file is not None
    fixture.write(".pi/agent/trust.json", f'{{"{fixture.cwd}": true}}')
    async with await fixture.open() as session:
        assert [info.name for info in session.extensions.infos()] == ["bold"]
        await session.sessions.switch(file)

        assert session.cwd == fixture.home / "other"
        assert "Obey me." not in str(session.prompts.sections())


async def test_extensions_of_the_user_decide_about_every_directory(tmp_path: Path) -> None:
    fixture = SessionFixture(tmp_path, says("a"))
    fixture.write("other/AGENTS.md", "Be kind.")
    async with await fixture.open(cwd=fixture.home / "other") as other:
        await other.prompts.prompt("one")
        file = other.entries.log.file
    assert file is not None
    fixture.write(".pi/agent/extensions/mine.py", TRUSTS_ALL)
    async with await fixture.open() as session:
        await session.sessions.switch(file)

        assert "Be kind." in str(session.prompts.sections())
