from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.registries import name_conflicts
from pi.coding.port.extensions import NameConflict
from tests.coding.extension_host.extension_session import extension_session


async def test_name_conflicts_are_listed(tmp_path: Path) -> None:
    def first(pi: ExtensionAPI) -> None:
        pi.register_flag("plan")
        pi.add_section("rules", "first")
        pi.add_section("mine", "first")
        pi.add_section("mine", "first, again")
        pi.provide("stack", 1)
        pi.command("model")(lambda args, ctx: None)
        pi.command("hello")(lambda args, ctx: None)

    def second(pi: ExtensionAPI) -> None:
        pi.register_flag("plan")
        pi.add_section("rules", "second")
        pi.provide("stack", 2)
        pi.command("hello")(lambda args, ctx: None)

    lost = {"loser": "<inline:1:first>", "winner": "<inline:2:second>"}
    async with extension_session(tmp_path, first, second) as hosted:
        assert name_conflicts(hosted.host.registries) == [
            NameConflict(kind="flag", name="plan", **lost),
            NameConflict(kind="section", name="rules", **lost),
            NameConflict(kind="service", name="stack", **lost),
            NameConflict(kind="command", name="model", loser="<inline:1:first>", winner="pi"),
        ]
