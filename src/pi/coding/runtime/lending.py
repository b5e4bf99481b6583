"""What extensions lend to a session: nothing, as long as it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pi.agent.policy import Policy
from pi.agent.tool import AgentTool
from pi.coding.files.layers import FileLayer

if TYPE_CHECKING:  # the host is a sixth of all that a session could load
    from pi.coding.compaction.strategies.strategy import Strategy
    from pi.coding.extension_host.commands import DeclaredCommand
    from pi.coding.extension_host.host import ExtensionHost
    from pi.coding.extension_host.registries import Sink
    from pi.coding.extension_host.sleeping import Sleeping
    from pi.coding.extension_host.tools import ExtensionTool


class Lender:
    """Asks the host, if there is one, so that nobody else needs to know whether there is."""

    def __init__(self) -> None:
        self.host: ExtensionHost | None = None
        """Set once there are extensions."""
        self.sleeping: Sleeping | None = None
        """Extensions that have nothing to lend but their commands."""

    def commands(self) -> Iterable[tuple[str, DeclaredCommand]]:
        """What can be typed behind a slash."""
        if self.host is not None:
            return self.host.registries.commands.listed()
        return () if self.sleeping is None else self.sleeping.commands.listed()

    def tools(self) -> Mapping[str, ExtensionTool]:
        """Their tools, by name."""
        return {} if self.host is None else self.host.registries.tools.values

    def dressed(self, tool: AgentTool) -> AgentTool:
        """``tool`` inside everything that they have wrapped around it."""
        return tool if self.host is None else self.host.lent.dressed(tool)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """What stands around every write."""
        return () if self.host is None else self.host.lent.file_layers()

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name."""
        return {} if self.host is None else self.host.lent.sections()

    def strategies(self) -> Mapping[str, Strategy]:
        """Ways to make a conversation shorter, by name."""
        return {} if self.host is None else self.host.registries.strategies.values

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """Who is asked in a run, in order: ``core`` among theirs."""
        return core if self.host is None else self.host.lent.policies(*core)

    def redacted(self, text: str, sink: Sink) -> str:
        """``text`` as it may leave the program."""
        return text if self.host is None else self.host.registries.redacted(text, sink)
