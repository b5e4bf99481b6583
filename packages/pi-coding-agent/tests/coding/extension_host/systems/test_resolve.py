"""Resolve: an unlisted tool on the stack of pending actions; the model must use it next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.base.records import replace
from pi.extension import ExtensionAPI, PendingAction, PendingActions, Policy, Request, make_tool
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session
from tests.coding.runtime.session_fixture import SessionFixture


class Pending(Policy):
    """Forces ``resolve`` while an action is pending."""

    def __init__(self, actions: PendingActions) -> None:
        self.actions = actions

    async def before_request(self, request: Request) -> Request:
        return replace(request, tool_choice="resolve") if self.actions.has_pending else request


def resolving(pi: ExtensionAPI) -> None:
    """The ``resolve`` tool; it does not depend on the tools that push actions."""
    actions = pi.pending_actions
    actions.add_resolver()
    pi.add_policy(Pending(actions))

    async def resolve(params: dict[str, Any], ctx: Any) -> Any:
        return await actions.resolve(params["action"], params["reason"])

    properties = {"action": {"enum": ["apply", "discard"]}, "reason": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["action", "reason"]}
    tool = make_tool(name="resolve", description="Decide.", params=schema, run=resolve)
    pi.register_tool(tool, exposure="unlisted")


def proposing(pi: ExtensionAPI) -> None:
    """Previews changes; it does not depend on the tool that resolves them."""

    @pi.tool(deferrable=True)
    async def propose(change: str) -> str:
        """Propose a change."""
        pi.push_pending_action(
            PendingAction(
                label=change,
                apply=lambda reason: f"applied {change} because {reason}",
                reject=(lambda reason: f"undone {change}") if change == "b" else None,
                source_tool_name="propose",
            )
        )
        return "Now decide."


def results(hosted: ExtensionFixture) -> list[str]:
    messages = hosted.fixture.provider.requests[-1].messages
    return [m.content[0].text for m in messages if isinstance(m, ToolResultMessage)]  # type: ignore[union-attr]


async def test_a_pending_action_forces_the_resolve_tool_until_it_is_resolved(
    tmp_path: Path,
) -> None:
    decision = calls("resolve", action="apply", reason="it is right")
    steps = (calls("propose", change="x"), decision, says("done"))
    async with extension_session(tmp_path, resolving, proposing, steps=steps) as hosted:
        await hosted.session.prompt("go")

        choices = [request.options.tool_choice for request in hosted.fixture.provider.requests]
        assert choices == [None, "resolve", None]
        assert results(hosted)[-1] == "applied x because it is right"
        assert "resolve" not in [tool.name for tool in hosted.session.tools.listed()]
        messages = hosted.fixture.provider.requests[-1].messages
        instructions = [m for m in messages if isinstance(m, SystemMessage)]
        assert len(instructions) == 1  # declared from the start: the cache stays valid
        assert hosted.failures == []


async def test_the_newest_action_is_resolved_first_and_resolving_without_one_fails(
    tmp_path: Path,
) -> None:
    steps = (
        calls("propose", change="a"),
        calls("propose", change="b"),
        calls("resolve", action="discard", reason="no"),
        calls("resolve", action="discard", reason="no"),
        calls("resolve", action="apply", reason="yes"),
        says("done"),
    )
    async with extension_session(tmp_path, resolving, proposing, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert results(hosted)[2:] == [
            "undone b",
            "Discarded: a",
            "No pending action to resolve. Nothing to apply or discard.",
        ]


async def test_an_action_that_no_extension_can_resolve_is_refused(tmp_path: Path) -> None:
    steps = (calls("propose", change="a"), says("I see"))
    async with extension_session(tmp_path, proposing, steps=steps) as hosted:
        await hosted.session.prompt("go")

        assert "Pending action store unavailable" in results(hosted)[0]
        assert not hosted.host.pending_actions.has_pending


async def test_a_new_session_has_no_pending_actions(tmp_path: Path) -> None:
    changes: list[bool] = []

    def watching(pi: ExtensionAPI) -> None:
        pi.pending_actions.on_change(lambda: changes.append(pi.pending_actions.has_pending))

    async with extension_session(
        tmp_path, resolving, watching, proposing, steps=(says("hello"),)
    ) as hosted:
        tools = hosted.session.tools
        await tools.call("propose", {"change": "a"}, caller="test")
        assert hosted.host.pending_actions.all[0].label == "a"
        await hosted.session.sessions.new()

        assert (hosted.host.pending_actions.all, changes) == ((), [True, False])


RESOLVER = """\
# /// pi
# activate = ["deferrable"]
# ///
def extension(pi):
    pi.pending_actions.add_resolver()
    @pi.tool
    def resolve() -> str:
        "Decide."
        return "decided"
"""
PRODUCER = """\
# /// pi
# activate = ["{activate}"]
# [tools.preview]
# description = "Preview a change."
# deferrable = {deferrable}
# ///
def extension(pi):
    @pi.tool(deferrable={python})
    def preview() -> str:
        "Preview a change."
        return "done"
"""


async def test_a_resolver_is_loaded_only_if_a_deferrable_tool_exists(tmp_path: Path) -> None:
    for name, deferrable in (("plain", "false"), ("deferred", "true")):
        fixture = SessionFixture(tmp_path / name)
        fixture.write(".pi/agent/extensions/a_resolver.py", RESOLVER)
        code = PRODUCER.format(
            activate="tool:preview", deferrable=deferrable, python=deferrable.title()
        )
        fixture.write(".pi/agent/extensions/b_producer.py", code)
        session = await fixture.open()
        states = {info.name: info.state for info in session.extensions.infos()}

        assert states["b_producer"] == "waiting"
        assert (states["a_resolver"] == "loaded") is (deferrable == "true")
        assert ("resolve" in session.active_tools) is (deferrable == "true")
        await session.close()
