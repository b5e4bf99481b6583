from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.agent.errors import WouldDeadlock
from pi.ai.providers.faux import calls, says
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.control import SessionControl
from tests.coding.extension_host.extension_session import extension_session


async def test_a_context_reports_the_state_of_the_session(tmp_path: Path) -> None:
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

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/look")

        assert hosted.failures == []
        assert (hosted.fixture.cwd / "a.txt").read_bytes() == b"x"
        assert seen == {
            "mode": "print",
            "has_ui": False,
            "cwd": hosted.fixture.cwd,
            "model": "faux",
            "level": "medium",
            "scoped": (),
            "idle": True,
            "trusted": True,
            "pending": False,
            "tools": ["read", "bash", "edit", "write"],
        }


async def test_a_context_reports_duration_and_cost_of_the_session(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append, steps=(says("one"),)) as hosted:
        await hosted.fixture.clock.advance(2)
        await hosted.session.prompt("hello")
        await hosted.session.sessions.reload()  # a reload keeps the session
        ctx = apis[-1].context
        stats, milliseconds = ctx.get_session_stats(), ctx.since_session_ms()
        counted = hosted.session.info.stats()
        await hosted.session.new_session()

        assert (stats, milliseconds) == (counted, 2000)
        assert (stats.user_messages, stats.tokens.total > 0) == (1, True)
        assert apis[-1].context.since_session_ms() == 0


async def test_a_command_can_replace_the_session_and_continue_in_the_new_one(
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

    async with extension_session(tmp_path, extension) as hosted:
        await hosted.session.prompt("/again")

        assert hosted.failures == []
    assert story == ["setup 2", "new: True", "cancelled: False"]


async def test_after_replacing_the_session_messages_go_to_the_new_one(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.command("again")
        async def again(args: str, ctx: Any) -> None:
            async def after(new: Any) -> None:
                await new.send_message({"custom_type": "note", "content": "from before"})
                await new.send_user_message("go on")

            await ctx.new_session(with_session=after)
            await ctx.send_message({"custom_type": "note", "content": "too late"})

    async with extension_session(tmp_path, extension, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("hello")
        await hosted.session.prompt("/again")
        conversation = str(hosted.session.messages)

    offsets = [conversation.find(text) for text in ("from before", "go on", "two")]
    assert -1 not in offsets and offsets == sorted(offsets)
    assert hosted.failures == ["command: This handle belongs to a session that has ended."]


async def test_a_command_may_fork_switch_and_move(tmp_path: Path) -> None:
    story: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("walk")
        async def walk(args: str, ctx: Any) -> None:
            file = ctx.session_manager.get_session_file()
            (fork_point,) = hosted.session.info.fork_points()
            moved = await ctx.navigate_tree(fork_point.entry_id, label="start")
            story.append(moved.text)

            async def forked(new: Any) -> None:
                async def back(old: Any) -> None:
                    story.append(old.session_manager.get_session_file() == file)

                story.append(new.session_manager.get_session_file() == file)
                await new.switch_session(file, with_session=back)

            await ctx.fork(fork_point.entry_id, position="at", with_session=forked)

        pi.on("session_fork", lambda event, ctx: story.append("fork"))

    async with extension_session(tmp_path, extension, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("hello")
        await hosted.session.prompt("/walk")

        assert hosted.failures == []
    assert story == ["hello", "fork", False, True]


async def test_inside_a_run_the_session_cannot_be_replaced(tmp_path: Path) -> None:
    problems: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("tool_call")
        async def leave(event: Any, ctx: Any) -> None:
            control = SessionControl(hosted.session)
            for act in (control.new_session, control.reload, control.wait_for_idle):
                try:
                    await act()
                except WouldDeadlock as problem:
                    problems.append(problem.message)

    steps = (calls("bash", command="true"), says("done"))
    async with extension_session(tmp_path, extension, steps=steps) as hosted:
        await hosted.session.prompt("go")

    assert len(problems) == 3


async def test_bytes_are_stored_under_their_hash(tmp_path: Path) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        blobs = apis[0].context.blobs
        blob = blobs.put(b"a picture", extension="png")

        assert blobs.get(blob.ref) == b"a picture"
        assert blobs.get("blob:sha256:gone") is None
