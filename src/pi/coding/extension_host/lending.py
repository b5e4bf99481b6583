"""What extensions lend to a session: theirs, and what the session that it works for has."""

from __future__ import annotations

from collections.abc import Callable

from pi.agent.policy import Policy
from pi.agent.tool import AgentTool
from pi.ai.stream import EventStream
from pi.coding.extension_host.failures import PASSED_ON
from pi.coding.extension_host.hooks import Failed, Hooks
from pi.coding.extension_host.model_wraps import ModelRequest, Wrapped, asked_through
from pi.coding.extension_host.policy import HostPolicy
from pi.coding.extension_host.prompt_options import tagged
from pi.coding.extension_host.provider_watch import watched
from pi.coding.extension_host.references import referring
from pi.coding.extension_host.registries import Registries
from pi.coding.extension_host.sub_sessions import Guarding
from pi.coding.extension_host.tools import annotated, wrapped
from pi.coding.files.layers import FileLayer


class Lending:
    """Stands in and around what a session does; ``inherited`` guards it as well."""

    def __init__(
        self,
        registries: Registries,
        hooks: Hooks,
        policy: HostPolicy,
        failed: Failed,
        inherited: Lending | None,
    ) -> None:
        self._registries = registries
        self._hooks = hooks
        self._policy = policy
        self._failed = failed
        self._inherited = inherited

    def dressed(self, tool: AgentTool) -> AgentTool:
        """``tool`` inside everything that extensions have wrapped around it."""
        tool = referring(tool, self._registries.references.values)
        if self.file_layers():
            tool = annotated(tool)
        return wrapped(tool, self._registries.tool_wraps.values)

    def sections(self) -> dict[str, str]:
        """Sections of the system prompt, by name; one that fails is left out."""
        texts: dict[str, str] = {}
        for name, row in self._registries.sections.winners().items():
            try:
                text = row.value[1]()
            except PASSED_ON:
                raise
            except BaseException as problem:
                self._failed(row.owner, f"section {name}", problem)
                continue
            if text:
                texts[name] = tagged(name, text)
        return texts

    def ask_model(
        self, request: ModelRequest, ask: Callable[[ModelRequest], EventStream]
    ) -> EventStream:
        """The answer to a request of this session, through everything that stands around it."""
        request = watched(request, self._hooks)
        wraps = [each.wrap for each in self._model_wraps() if each.concerns(request.purpose)]
        return asked_through(wraps, request, ask) if wraps else ask(request)

    def file_layers(self) -> tuple[FileLayer, ...]:
        """What stands around every write, what is inherited first."""
        inherited = () if self._inherited is None else self._inherited.file_layers()
        return inherited + self._registries.file_layers.values

    def policies(self, *core: Policy) -> tuple[Policy, ...]:
        """Who is asked in a run, in order: ``core`` before extensions that want to be last."""
        guards = () if self._inherited is None else self._inherited._guards()
        return (*guards, *self._own_policies(*core))

    def _model_wraps(self) -> tuple[Wrapped, ...]:
        inherited = () if self._inherited is None else self._inherited._model_wraps()
        return inherited + self._registries.model_wraps.values

    def _guards(self) -> tuple[Policy, ...]:
        """Who is asked about the calls of a session that works for this one."""
        inherited = () if self._inherited is None else self._inherited._guards()
        return (*inherited, *map(Guarding, self._own_policies()))

    def _own_policies(self, *core: Policy) -> tuple[Policy, ...]:
        at = self._registries.policies_at
        return (*at("first"), self._policy, *at("normal"), *core, *at("last"))
