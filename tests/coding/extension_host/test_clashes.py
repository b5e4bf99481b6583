from __future__ import annotations

from pathlib import Path

from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.extension_host.clashes import Clash, clashes
from tests.coding.extension_host.stage import playing


async def test_names_that_somebody_else_has_are_known(tmp_path: Path) -> None:
    def first(pi: ExtensionAPI) -> None:
        pi.register_flag("plan")
        pi.command("model")(lambda args, ctx: None)
        pi.command("hello")(lambda args, ctx: None)

    def second(pi: ExtensionAPI) -> None:
        pi.register_flag("plan")
        pi.command("hello")(lambda args, ctx: None)

    async with playing(tmp_path, first, second) as play:
        assert clashes(play.host.registries) == [
            Clash(kind="flag", name="plan", loser="<inline:1:first>", winner="<inline:2:second>"),
            Clash(kind="command", name="model", loser="<inline:1:first>", winner="pi"),
        ]
