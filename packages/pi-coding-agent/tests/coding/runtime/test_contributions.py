from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.agent.policy import Policy
from pi.agent.tools.define import tool
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.dormant import ExtensionContributions
from tests.coding.extension_host.extension_session import extension_session


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def test_without_extensions_contributions_are_empty_and_change_nothing() -> None:
    contributions, policy = ExtensionContributions(), Policy()

    assert contributions.wrapped([echo]) == (echo,)
    assert contributions.policies(policy) == (policy,)
    assert contributions.redacted("secret", "share") == "secret"
    assert (contributions.commands(), contributions.tools(), contributions.file_layers()) == (
        (),
        {},
        (),
    )
    assert (contributions.sections(), contributions.strategies()) == ({}, {})


async def test_contributions_contain_the_registrations_of_extensions(tmp_path: Path) -> None:
    class Brief:
        async def compact(self, work: Any) -> Any:
            raise AssertionError("must not compact")

    brief = Brief()

    def extension(pi: ExtensionAPI) -> None:
        pi.command("do")(lambda args, ctx: None)
        pi.register_tool(echo)
        pi.add_section("weather", lambda: "Sunny.")
        pi.add_compaction("brief", brief)
        pi.add_redactor(lambda text, sink: text.replace("secret", sink))

    contributions = ExtensionContributions()
    async with extension_session(tmp_path, extension) as hosted:
        contributions.host = hosted.host

        assert [name for name, _ in contributions.commands()] == ["do"]
        assert [*contributions.tools()] == ["echo"]
        assert contributions.sections() == {"weather": "<weather>\nSunny.\n</weather>"}
        assert contributions.strategies() == {"brief": brief}
        assert contributions.redacted("a secret", "share") == "a share"
