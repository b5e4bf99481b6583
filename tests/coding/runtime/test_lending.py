from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.agent.policy import Policy
from pi.agent.tools.define import tool
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.dormant import ExtensionContributions
from tests.coding.extension_host.stage import playing


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def test_without_extensions_everything_is_as_it_is() -> None:
    lender, policy = ExtensionContributions(), Policy()

    assert lender.wrapped(echo) is echo
    assert lender.policies(policy) == (policy,)
    assert lender.redacted("secret", "share") == "secret"
    assert (lender.commands(), lender.tools(), lender.file_layers()) == ((), {}, ())
    assert (lender.sections(), lender.strategies()) == ({}, {})


async def test_what_extensions_have_registered_is_lent(tmp_path: Path) -> None:
    class Brief:
        async def compact(self, work: Any) -> Any:
            raise AssertionError("nobody compacts")

    brief = Brief()

    def extension(pi: ExtensionAPI) -> None:
        pi.command("do")(lambda args, ctx: None)
        pi.register_tool(echo)
        pi.add_section("weather", lambda: "Sunny.")
        pi.add_compaction("brief", brief)
        pi.add_redactor(lambda text, sink: text.replace("secret", sink))

    lender = ExtensionContributions()
    async with playing(tmp_path, extension) as play:
        lender.host = play.host

        assert [name for name, _ in lender.commands()] == ["do"]
        assert [*lender.tools()] == ["echo"]
        assert lender.sections() == {"weather": "<weather>\nSunny.\n</weather>"}
        assert lender.strategies() == {"brief": brief}
        assert lender.redacted("a secret", "share") == "a share"
