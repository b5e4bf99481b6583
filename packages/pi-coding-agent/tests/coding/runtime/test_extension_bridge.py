from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import says
from pi.base.errors import PiError
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.shell.local import BashResult
from tests.coding.extension_host.extension_session import extension_session

SKILL = "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n"


async def test_an_extension_can_transform_or_handle_input(tmp_path: Path) -> None:
    seen: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("input")
        def given(event: Any, ctx: Any) -> Any:
            seen.append((event.text, event.source, event.streaming_behavior))
            if event.text == "mine":
                return {"action": "handled"}
            return {"action": "transform", "text": event.text.upper()}

    async with extension_session(tmp_path, extension, steps=(says("ok"),)) as hosted:
        assert await hosted.session.prompt("mine") is None
        await hosted.session.prompts.prompt("hello", source="rpc")
        (request,) = hosted.fixture.provider.requests

    assert request.messages[-1].content[0].text == "HELLO"  # type: ignore[union-attr]
    assert seen == [("mine", "interactive", None), ("hello", "rpc", None)]


async def test_an_extension_can_prevent_switching_sessions(tmp_path: Path) -> None:
    questions: list[Any] = []

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("session_before_switch")
        def stay(event: Any, ctx: Any) -> Any:
            questions.append((event.reason, event.target_session_file))
            return {"cancel": event.reason != "fork"}

        @pi.on("session_before_fork")
        async def fork(event: Any, ctx: Any) -> Any:
            questions.append((event.position, event.entry_id))

    async with extension_session(tmp_path, extension, steps=(says("ok"),)) as hosted:
        assert (await hosted.session.new_session()).cancelled
        assert (await hosted.session.switch_session("/x.jsonl")).cancelled
        await hosted.session.prompt("hello")
        leaf = hosted.session.entries.log.leaf_id
        assert not (await hosted.session.sessions.clone()).cancelled

    assert questions == [("new", None), ("resume", "/x.jsonl"), ("at", leaf), ("fork", None)]


async def test_user_commands_are_run_or_forbidden_by_an_extension(
    tmp_path: Path,
) -> None:
    def extension(pi: ExtensionAPI) -> None:
        @pi.on("user_bash")
        def guard(event: Any, ctx: Any) -> Any:
            if event.command == "rm":
                raise ValueError("not here")
            if event.command == "ls":
                return {"result": {"output": "nothing", "exit_code": 0}}
            return None

    async with extension_session(tmp_path, extension) as hosted:
        assert (await hosted.session.shell.run("ls")).output == "nothing"
        assert (await hosted.session.shell.run("echo hi")).output == "hi\n"
        with pytest.raises(PiError, match="not here"):
            await hosted.session.shell.run("rm")


async def test_an_extension_can_add_skill_paths(tmp_path: Path) -> None:
    reasons: list[str] = []
    folder = tmp_path / "skills" / "tidy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)

    def extension(pi: ExtensionAPI) -> None:
        @pi.on("resources_discover")
        def more(event: Any, ctx: Any) -> Any:
            reasons.append(event.reason)
            return {"skill_paths": [str(tmp_path / "skills")]}

    async with extension_session(tmp_path, extension) as hosted:
        commands = [command.name for command in hosted.session.info.commands()]
        await hosted.session.sessions.reload()
        assert commands == ["skill:tidy"]
        assert commands == [command.name for command in hosted.session.info.commands()]

    assert reasons == ["startup", "reload"]


async def test_an_extension_may_run_a_user_command_remotely(tmp_path: Path) -> None:
    seen: list[str] = []

    def remote(pi: ExtensionAPI) -> None:
        async def run(command: str, cwd: str, on_text: Any) -> BashResult:
            on_text("far")
            return BashResult(output=f"{command} in {Path(cwd).name}", exit_code=0)

        pi.on("user_bash", lambda event, ctx: {"operations": run})

    async with extension_session(tmp_path, remote) as hosted:
        result = await hosted.session.shell.run("ls", on_text=seen.append)

    assert (result, seen) == (BashResult(output="ls in project", exit_code=0), ["far"])


async def test_an_extension_gets_message_updates_only_while_its_handler_is_registered(
    tmp_path: Path,
) -> None:
    apis: list[ExtensionAPI] = []
    seen: list[Any] = []

    steps = (says("one"), says("two"), says("three"))
    async with extension_session(tmp_path, apis.append, steps=steps) as hosted:
        await hosted.session.prompt("a")
        watching = apis[0].on("message_update", lambda event, ctx: seen.append(event))
        await hosted.session.prompt("b")
        count = len(seen)
        watching.remove()
        await hosted.session.prompt("c")

        assert (count > 0, len(seen)) == (True, count)


async def test_an_extension_can_keep_the_whole_conversation_in_a_fork(tmp_path: Path) -> None:
    def keeping(pi: ExtensionAPI) -> None:
        answer = {"cancel": False, "skip_conversation_restore": True}
        pi.on("session_before_fork", lambda event, ctx: answer)

    async with extension_session(tmp_path, keeping, steps=(says("one"), says("two"))) as hosted:
        await hosted.session.prompt("first")
        await hosted.session.prompt("second")
        before = hosted.session.messages
        first, _ = hosted.session.info.fork_points()
        forked = await hosted.session.fork(first.entry_id)

        assert (forked.text, forked.cancelled) == ("first", False)
        assert list(hosted.session.messages) == list(before)
