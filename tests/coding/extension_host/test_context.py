from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.agent.errors import WouldDeadlock
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api import ExtensionAPI
from tests.coding.extension_host.stage import playing


async def test_a_context_tells_how_the_session_is(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("look")
        async def look(args: str, ctx: Any) -> None:
            seen.update(
                mode=ctx.mode,
                has_ui=ctx.has_ui,
                cwd=ctx.cwd,
                model=ctx.model.id,
                level=ctx.thinking_level,
                scoped=ctx.scoped_models,
                idle=ctx.is_idle(),
                trusted=ctx.is_project_trusted(),
                pending=ctx.has_pending_messages(),
                tools=ctx.get_system_prompt_options().selected_tools,
            )
            assert "pi, a coding agent" in ctx.get_system_prompt()
            assert ctx.get_context_usage() is not None
            assert ctx.model_registry.find("faux", "faux") == ctx.model
            await ctx.files.write_file("a.txt", b"x")
            await ctx.wait_for_idle()
            assert ctx.artifacts.save("x", "long text") == "0"

    async with playing(tmp_path, extension) as play:
        await play.session.prompt("/look")

        assert play.failures == []
        assert (play.stage.cwd / "a.txt").read_bytes() == b"x"
        assert seen == {
            "mode": "print",
            "has_ui": False,
            "cwd": play.stage.cwd,
            "model": "faux",
            "level": "medium",
            "scoped": (),
            "idle": True,
            "trusted": True,
            "pending": False,
            "tools": ["read", "bash", "edit", "write"],
        }


async def test_a_command_may_replace_the_session_and_go_on_in_the_new_one(
    tmp_path: Path,
) -> None:
    story: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("again")
        async def again(args: str, ctx: Any) -> None:
            async def after(new: Any) -> None:
                story.append(f"new: {new.session_manager.get_session_id() != old}")

            old = ctx.session_manager.get_session_id()
            done = await ctx.new_session(
                setup=lambda log: story.append(f"setup {len(log.tree)}"), with_session=after
            )
            story.append(f"cancelled: {done.cancelled}")

    async with playing(tmp_path, extension) as play:
        await play.session.prompt("/again")

        assert play.failures == []
    assert story == ["setup 2", "new: True", "cancelled: False"]


async def test_a_command_may_fork_switch_and_move(tmp_path: Path) -> None:
    story: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("walk")
        async def walk(args: str, ctx: Any) -> None:
            file = ctx.session_manager.get_session_file()
            (person,) = play.session.facts.fork_points()
            moved = await ctx.navigate_tree(person.entry_id, label="start")
            story.append(moved.text)

            async def forked(new: Any) -> None:
                async def back(old: Any) -> None:
                    story.append(old.session_manager.get_session_file() == file)

                story.append(new.session_manager.get_session_file() == file)
                await new.switch_session(file, with_session=back)

            await ctx.fork(person.entry_id, position="at", with_session=forked)

        pi.on("session_fork", lambda event, ctx: story.append("fork"))

    async with playing(tmp_path, extension, steps=(says("one"),)) as play:
        await play.session.prompt("hello")
        await play.session.prompt("/walk")

        assert play.failures == []
    assert story == ["hello", "fork", False, True]


async def test_inside_a_run_the_session_cannot_be_replaced(tmp_path: Path) -> None:
    problems: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        async def leave(event: Any, ctx: Any) -> None:
            session = play.host.session
            for act in (session.new_session, session.reload, session.wait_for_idle):
                try:
                    await act()
                except WouldDeadlock as problem:
                    problems.append(problem.message)

    steps = (calls("bash", command="true"), says("done"))
    async with playing(tmp_path, extension, steps=steps) as play:
        await play.session.prompt("go")

    assert len(problems) == 3


async def test_compaction_waits_for_rest_and_tells_how_it_went(tmp_path: Path) -> None:
    problems: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("turn_end")
        def compact(event: Any, ctx: Any) -> None:
            ctx.compact(on_error=lambda problem: problems.append(problem.message))

    async with playing(tmp_path, extension, steps=(says("one"), says("two"))) as play:
        await play.session.prompt("go")
        await play.session.prompt("again")

    assert problems[0] == "Nothing to compact (session too small)"


async def test_an_abort_and_the_end_of_the_program_are_asked_for(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        def stop(event: Any, ctx: Any) -> None:
            ctx.abort()
            ctx.shutdown()

    steps = (calls("bash", command="true"), says("never"))
    async with playing(tmp_path, extension, steps=steps) as play:
        answer = await play.session.prompt("go")
        await play.session.extensions.shutdown_wanted()

    assert answer is not None
    assert answer.stop_reason == "error"
