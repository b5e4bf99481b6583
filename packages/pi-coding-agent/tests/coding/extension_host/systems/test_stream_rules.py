"""Stream rules: watch deltas, interrupt, drop or keep the answer, and retry."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi.ai.messages import UserMessage
from pi.ai.providers.faux import call, calls, says, thinks
from pi.coding.session.entries import CustomMessage
from pi.extension import (
    Custom,
    CustomMessageEntry,
    Delta,
    ExtensionAPI,
    Interrupt,
    MessageToken,
    Partial,
    Policy,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from tests.coding.extension_host.extension_session import extension_session

REMINDER = CustomMessageEntry(custom_type="rule", content="No TODO, please.", display=False)
NOTE = Custom(custom_type="ttsr_injection", data={"rule": "todo"})


class Watching(Policy):
    """Watches text, thinking and tool arguments."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.seen: set[type] = set()
        self.files: list[str] = []

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        self.seen.add(type(delta))
        if isinstance(delta, ToolCallDelta):
            file = self._pi.context.preview(answer().tool_calls[-1])
            self.files.append(file.added if file else "")
            if file and "TODO" in file.added:
                raise Interrupt("todo", entries=(REMINDER, NOTE))


async def test_a_call_that_would_write_a_forbidden_word_is_interrupted(tmp_path: Path) -> None:
    watchers: list[Watching] = []

    def rules(pi: ExtensionAPI) -> None:
        watchers.append(Watching(pi))
        pi.add_policy(watchers[0])

    bad = thinks("hm", Text(text="so"), call("write", path="a", content="# TODO later"))
    good = calls("write", path="a", content="done")
    async with extension_session(tmp_path, rules, steps=(bad, good, says("ok"))) as hosted:
        await hosted.session.prompt("write it")

        assert watchers[0].seen == {TextDelta, ThinkingDelta, ToolCallDelta}
        assert any("TODO" in text for text in watchers[0].files)
        assert (hosted.fixture.cwd / "a").read_text() == "done"
        assert hosted.fixture.order.count("agent_start") == 1
        again = hosted.fixture.provider.requests[1].messages
        assert isinstance(again[-1], UserMessage)
        assert "No TODO" in str(again[-1].content)
        assert "later" not in str(again)  # the interrupted answer is not sent back
        messages = [m for m in hosted.session.messages if isinstance(m, CustomMessage)]
        assert [message.display for message in messages] == [False]


async def test_a_late_interrupt_applies_only_to_the_answer_of_its_token(tmp_path: Path) -> None:
    done: list[bool] = []

    def rules(pi: ExtensionAPI) -> None:
        started: list[MessageToken] = []

        async def match(token: MessageToken) -> None:
            await asyncio.sleep(0)
            done.append(pi.context.interrupt(token, Interrupt("found", entries=(REMINDER,))))

        @pi.on("message_update")
        def look(event: Any, ctx: Any) -> None:
            token = ctx.message_token
            if token is not None and not started:
                started.append(token)
                ctx.run_scope.spawn(match(token), name="match")

        @pi.on("agent_settled")
        async def late(event: Any, ctx: Any) -> None:
            done.append(ctx.interrupt(started[0], Interrupt("late")))
            await pi.publish("ttsr_triggered", {"rule": "todo"})

    numbers = " ".join(str(number) for number in range(200))
    async with extension_session(tmp_path, rules, steps=(says(numbers), says("ok"))) as hosted:
        answer = await hosted.session.prompt("count")

        assert answer is not None
        assert (answer.text, done) == ("ok", [True, False])
        assert [event.name for event in hosted.emitted("ExtensionEvent")] == ["ttsr_triggered"]


async def test_a_handler_can_add_a_reminder_before_a_tool_result(tmp_path: Path) -> None:
    def rules(pi: ExtensionAPI) -> None:
        @pi.on("tool_result")
        def remind(event: Any, ctx: Any) -> Any:
            return {"content": [type(event.content[0])(text="Mind the rule."), *event.content]}

    steps = (calls("bash", command="echo hi"), says("ok"))
    async with extension_session(tmp_path, rules, steps=steps) as hosted:
        await hosted.session.prompt("go")

        result = hosted.fixture.provider.requests[1].messages[-1]
        assert [block.text for block in result.content] == ["Mind the rule.", "hi\n"]  # type: ignore[union-attr]
