"""Sub-agents: several at once, each with its own tools and model, and stored results."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi.ai.providers.faux import calls, says
from pi.ai.request import Call
from pi.extension import (
    ExtensionAPI,
    SubSession,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    ToolResultMessage,
    Usage,
    replace,
)
from tests.coding.extension_host.extension_session import FakeUI, extension_session


def agents(pi: ExtensionAPI) -> None:
    """``task`` runs two sub-agents at once; a guard of the parent refuses forbidden calls."""

    @pi.tool
    async def task(questions: list[str], ctx: ToolContext) -> ToolResult:
        """Answer several questions concurrently."""
        if pi.context.depth:
            raise ToolFailed("A helper has no helpers.")
        limit, spent = asyncio.Semaphore(2), Usage()
        done: list[str] = []

        async def ask(question: str) -> str:
            nonlocal spent
            async with limit:
                spec = SubSession(
                    prompt=question, tools=("bash", "read"), system="Answer.", seconds=60
                )
                handle = await pi.sub_session(spec)
                story: list[str] = []
                handle.events(lambda event: story.append(type(event).__name__))
                answer = await handle.result()
                spent = replace(spent, input=spent.input + handle.usage.input)
                outputs = pi.context.artifacts.outputs
                number = outputs.allocate("Agent")
                outputs.save(number, answer.text if answer else "")
                done.append(question)
                ctx.update(ToolResult.of(f"{len(done)} of {len(questions)}"))
                pi.context.ui.set_widget("agents", [f"done: {question}" for question in done])
                await pi.publish("agent_done", {"number": number, "steps": len(story)})
                return number

        numbers = await asyncio.gather(*map(ask, questions))
        result = ToolResult.of(" ".join(f"agent://{number}" for number in numbers))
        return replace(result, usage=spent)

    @pi.on("tool_call")
    def guard(event: Any, ctx: Any) -> Any:
        if "forbidden" in str(event.input):
            return {"reason": "Not here."}
        return None


def answering(call: Call) -> Any:
    """One script for the parent and its sub-agents, in order of requests."""
    conversation = str(call.messages)
    if "Answer." not in conversation:
        if "agent://" not in conversation:
            return calls("task", questions=["one?", "two?"])
        if "number one" not in conversation and "number two" not in conversation:
            return calls("read", path="agent://Agent")
        return says("both")
    if "Not here" in conversation or "two?" not in conversation:
        return says("number one" if "one?" in conversation else "number two")
    return (
        calls("bash", command="echo forbidden") if "Not here" not in conversation else says("two")
    )


async def test_sub_agents_run_concurrently_under_the_guards_of_their_session(
    tmp_path: Path,
) -> None:
    ui = WidgetUI()
    steps = (answering,) * 6
    async with extension_session(tmp_path, agents, steps=steps, ui=ui) as hosted:
        await hosted.session.prompt("ask both")

        outputs = hosted.session.artifacts.outputs
        assert outputs.list() == ["Agent", "Agent-2"]
        assert sorted(map(outputs.read, outputs.list())) == ["number one", "number two"]  # type: ignore[type-var]
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
        assert results[-1].content == (Text(text=outputs.read("Agent") or ""),)
        assert [len(event.data) for event in hosted.emitted("ExtensionEvent")] == [2, 2]
        assert ui.widgets[-1] == 2
        refused = [
            request
            for request in hosted.fixture.provider.requests
            if "Not here" in str(request.messages)
        ]
        assert len(refused) == 1
        # Each of the scripted answers counts once, also those to sub-agents.
        assert hosted.session.info.stats().tokens.input == 10 * len(steps)
        assert hosted.failures == []


class WidgetUI(FakeUI):
    """Counts the lines of widgets."""

    def __init__(self) -> None:
        super().__init__()
        self.widgets: list[int] = []

    def set_widget(self, key: str, lines: Any, *, placement: Any = None) -> None:
        if lines:
            self.widgets.append(len(lines))
