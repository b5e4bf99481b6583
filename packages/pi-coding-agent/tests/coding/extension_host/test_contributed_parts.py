from __future__ import annotations

from pathlib import Path

from pi.agent.policy import Boundary, Next, Policy
from pi.ai.messages import SystemMessage
from pi.ai.providers.faux import says
from pi.coding.extension_host.api.api import ExtensionAPI
from tests.coding.extension_host.extension_session import extension_session


async def test_policies_of_extensions_run_in_the_order_of_their_position(tmp_path: Path) -> None:
    order: list[str] = []

    class Noting(Policy):
        def __init__(self, name: str) -> None:
            self.name = name

        async def at_boundary(self, boundary: Boundary) -> Next:
            if boundary.kind == "turn":
                order.append(self.name)
            return boundary.next

    def extension(pi: ExtensionAPI) -> None:
        pi.add_policy(Noting("last"), at="last")
        pi.add_policy(Noting("normal"))
        pi.add_policy(Noting("first"), at="first")
        pi.on("turn_end", lambda event, ctx: order.append("event"))
        pi.add_policy(Noting("gone")).remove()

    async with extension_session(tmp_path, extension, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("go")
        names = [type(policy).__name__ for policy in hosted.session._core.agent.policies]

    assert order == ["first", "event", "normal", "last"]
    assert names[:3] == ["GuardedPolicy", "ExtensionPolicy", "GuardedPolicy"]
    assert names[3] == "CompactionPolicy"


async def test_empty_and_failing_prompt_sections_are_left_out(tmp_path: Path) -> None:
    def extension(pi: ExtensionAPI) -> None:
        pi.add_section("house", "Be kind.")
        pi.add_section("empty", lambda: None)

        def broken() -> str:
            raise ValueError("no")

        pi.add_section("broken", broken)

    async with extension_session(tmp_path, extension, steps=(says("one"),)) as hosted:
        await hosted.session.prompt("go")
        (system,) = [m for m in hosted.session.messages if isinstance(m, SystemMessage)]

    sections = system.sections or {}
    assert sections["house"] == "<house>\nBe kind.\n</house>"
    assert {"empty", "broken"}.isdisjoint(sections)
