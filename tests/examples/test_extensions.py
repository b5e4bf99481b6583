"""Every example of an extension, loaded from its file and used in a session."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.ai.auth.login import DeviceCode
from pi.ai.messages import AssistantMessage, Text, ToolResultMessage
from pi.ai.providers.faux import Step, calls, says
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.port.extensions import ViewOptions
from pi.coding.runtime.session.agent_session import AgentSession
from scripts.workspace import ROOT, find_example
from tests.ai.auth.scripted_ui import ScriptedUI
from tests.ai.loopback import site
from tests.coding.extension_host.extension_session import ExtensionFixture, FakeUI
from tests.coding.runtime.session_fixture import SessionFixture

FOLDER = find_example(ROOT, "extensions")
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))


class Screen(FakeUI):
    """Also sees widgets and footers."""

    def set_widget(self, key: str, lines: Any, *, placement: Any = None) -> None:
        self.seen.append(("widget", key, str(lines)))

    def set_footer(self, make: Any) -> None:
        if make is not None:
            self.seen.append(("footer", *make().render(80)))


@asynccontextmanager
async def using(
    name: str, tmp_path: Path, *steps: Step, ui: FakeUI | None = None, **options: Any
) -> AsyncIterator[ExtensionFixture]:
    fixture = SessionFixture(tmp_path, *steps)
    requested = ExtensionOptions(
        discover=False, paths=(str(FOLDER / f"{name}.py"),), flags=options.pop("flags", {})
    )
    session: AgentSession = await fixture.open(extensions=requested, **options)
    try:
        assert [info.problem for info in session.extensions.infos()] == [""]
        session.extensions.attach(ui or FakeUI(), "rpc")
        await session.start()
        yield ExtensionFixture(fixture, session)
    finally:
        await session.close()


def results(hosted: ExtensionFixture) -> list[str]:
    return [
        "".join(part.text for part in message.content if isinstance(part, Text))
        for message in hosted.session.messages
        if isinstance(message, ToolResultMessage)
    ]


def repository(folder: Path) -> None:
    """A repository with one commit."""
    (folder / "a").write_text("1")
    for words in (
        ["init", "-q"],
        ["config", "user.name", "x"],
        ["config", "user.email", "x@y"],
        ["add", "a"],
        ["commit", "-qm", "one"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_every_extension_example_has_a_test() -> None:
    source = "".join(Path(__file__).read_text().split())

    assert [name for name in EXAMPLES if f'using("{name}"' not in source] == []
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_import_only_pi_extension(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert {module for module in modules if (module or "").startswith("pi")} == {"pi.extension"}


@pytest.mark.parametrize("agrees", [True, False])
async def test_deletions_are_confirmed(tmp_path: Path, *, agrees: bool) -> None:
    ui = FakeUI(agrees=agrees)
    steps = (calls("bash", command="rm x"), says("ok"))
    async with using("confirm_deletions", tmp_path, *steps, ui=ui) as hosted:
        (hosted.fixture.cwd / "x").write_text("")
        await hosted.session.prompt("go")

        assert (hosted.fixture.cwd / "x").exists() is not agrees
    assert ui.seen == [("confirm", "Delete?", "rm x")]


async def test_input_is_transformed(tmp_path: Path) -> None:
    async with using("input_transform", tmp_path, says("ok")) as hosted:
        await hosted.session.prompt("?why")

        said = hosted.session.info.fork_points()
    assert [each.text for each in said] == ["Answer in one sentence: why"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_checkpoints_are_listed(tmp_path: Path) -> None:
    ui = FakeUI()
    async with using("git_checkpoint", tmp_path, says("ok"), ui=ui) as hosted:
        cwd = hosted.fixture.cwd
        repository(cwd)
        (cwd / "a").write_text("2")
        await hosted.session.prompt("change it")
        await hosted.session.prompt("/checkpoints")

        assert hosted.failures == []
    assert ui.seen[0][1].endswith(" change it")


async def test_a_footer_is_drawn(tmp_path: Path) -> None:
    ui = Screen()
    async with using("custom_footer", tmp_path, ui=ui):
        pass

    assert ui.seen == [("footer", "faux, 0 % full")]


async def test_the_overridden_read_tool_refuses_secret_files(tmp_path: Path) -> None:
    steps = (calls("read", path=".env"), calls("read", path="a"), says("ok"))
    async with using("tool_override", tmp_path, *steps) as hosted:
        (hosted.fixture.cwd / "a").write_text("hello")
        await hosted.session.prompt("go")

        assert results(hosted) == [
            ".env holds secrets. Ask the user for what you need.",
            "hello",
        ]


async def test_a_previewed_copy_is_applied_and_a_command_is_refused(tmp_path: Path) -> None:
    steps = (
        calls("preview_copy", old="a", new="b"),
        calls("decide", action="apply", reason="wanted"),
        calls("bash", command="echo no"),
        says("ok"),
    )
    ui = Screen(agrees=False)
    async with using("preview_and_apply", tmp_path, *steps, ui=ui) as hosted:
        (hosted.fixture.cwd / "a").write_text("hello")
        await hosted.session.prompt("go")

        assert (hosted.fixture.cwd / "b").read_text() == "hello"
        assert results(hosted)[0] == "Ready: a → b. Call decide."
        assert results(hosted)[2] == "The user refused it."
        assert ui.seen == [("confirm", "Run bash?", "command: echo no")]


async def test_the_example_provider_returns_a_response(tmp_path: Path) -> None:
    async with using("provider", tmp_path, model="parrot/echo") as hosted:
        answer = await hosted.session.prompt("hello you")

    assert isinstance(answer, AssistantMessage)
    assert answer.content == (Text(text="hello you "),)


async def test_the_user_logs_in_to_a_provider_and_the_login_is_refreshed(tmp_path: Path) -> None:
    words = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
    pages: dict[str, Any] = {
        "/device": {"user_code": "AB-CD", "page": "p", "device_code": "d", "interval": 0},
        "/token": {"access_token": "a1", "refresh_token": "r1", "expires_in": 3600},
        "/v1/chat/completions": b"data: " + json.dumps(words).encode() + b"\n\ndata: [DONE]\n\n",
    }
    person = ScriptedUI()
    async with site(pages) as server:
        flags = {"acme-url": server.url}
        async with using("oauth_provider", tmp_path, model=None, flags=flags) as hosted:
            await hosted.session.accounts.log_in("acme", person)
            await hosted.session.set_model("acme/small")
            first = await hosted.session.prompt("hello")
            pages["/token"] = {"access_token": "a2", "refresh_token": "r2", "expires_in": 3600}
            await hosted.fixture.clock.advance(3500)
            second = await hosted.session.prompt("again")

    assert [answer.text for answer in (first, second) if answer] == ["hi", "hi"]
    assert person.notices[0] == DeviceCode(user_code="AB-CD", url="p", expires_in=900)
    assert [
        headers.get("authorization", body.decode())
        for _, path, headers, body in server.asked
        if path != "/device"
    ] == ["code=d", "Bearer a1", "refresh_token=r1", "Bearer a2"]


async def test_tasks_are_kept_and_shown(tmp_path: Path) -> None:
    ui = Screen()
    async with using(
        "todo", tmp_path, calls("todo", tasks=["a", "b"]), says("ok"), ui=ui
    ) as hosted:
        await hosted.session.prompt("plan")

        assert results(hosted) == ["2 open tasks"]
    assert ("widget", "todo", "['[ ] a', '[ ] b']") in ui.seen


async def test_the_time_is_shown(tmp_path: Path) -> None:
    ui = FakeUI()
    async with using("status_widget", tmp_path, ui=ui) as hosted:
        await hosted.fixture.clock.advance(61)

    assert ui.seen == [
        ("status", "time", "0 min"),
        ("status", "time", "1 min"),
        ("status", "time", "None"),
    ]


async def test_a_conversation_is_compacted_without_a_model(tmp_path: Path) -> None:
    settings = {"compaction": {"strategy": "first-lines", "keepRecentTokens": 1}}
    steps = (says("one"), says("two"))
    async with using("custom_compaction", tmp_path, *steps, settings=settings) as hosted:
        await hosted.session.prompt("first thing\nwith more")
        await hosted.session.prompt("second thing")
        result = await hosted.session.compact()

    assert result.summary.startswith("The user asked:\n- first thing\n")


async def test_a_note_is_kept_and_drawn(tmp_path: Path) -> None:
    async with using("message_renderer", tmp_path) as hosted:
        await hosted.session.prompt("/note remember the milk")
        (message,) = hosted.session.messages
        views = hosted.session.extensions.views
        rows = views.rows("message", "note", message, ViewOptions(), None, 10)

        assert rows == ["-" * 10, "remember t", "-" * 10]


async def test_an_answer_that_breaks_a_rule_is_cut(tmp_path: Path) -> None:
    steps = (says("You're absolutely right, of course"), says("It is 4."))
    async with using("stream_rule", tmp_path, *steps) as hosted:
        answer = await hosted.session.prompt("2 + 2?")

    assert isinstance(answer, AssistantMessage)
    assert answer.content == (Text(text="It is 4."),)


async def test_a_sub_agent_answers_a_question(tmp_path: Path) -> None:
    steps = (
        calls("explore", question="where is it?"),
        calls("ls", path="."),
        says("In a.txt."),
        says("It is in a.txt."),
    )
    async with using("sub_agent", tmp_path, *steps) as hosted:
        await hosted.session.prompt("find it")

        assert results(hosted) == ["In a.txt."]


async def test_nothing_is_written_while_a_plan_is_made(tmp_path: Path) -> None:
    ui = FakeUI()
    steps = (calls("write", path="a", content="x"), says("planned"), says("done"))
    async with using("plan_mode", tmp_path, *steps, ui=ui) as hosted:
        tools = hosted.session.active_tools
        await hosted.session.prompt("/plan")
        assert hosted.session.active_tools == ("read", "grep", "find", "ls")
        hosted.session.set_active_tools(tools)
        await hosted.session.prompt("do it")
        assert results(hosted) == ["The plan is not approved yet. Describe it; nothing is written."]
        await hosted.session.prompt("/go")

        assert hosted.session.active_tools == tools
        assert hosted.failures == []
