"""What shapes runs: policies, wraps, references, the prompt, compaction."""

from __future__ import annotations

from pi.agent.policy import Policy
from pi.coding.compaction.strategies.strategy import Strategy
from pi.coding.extension_host.members.api_members import ApiMembers
from pi.coding.extension_host.model_wraps import ModelWrap, Purpose, Wrapped
from pi.coding.extension_host.order import At
from pi.coding.extension_host.owned_policy import owned
from pi.coding.extension_host.references import (
    ParseReference,
    Reference,
    ResourceHandler,
    scheme_form,
)
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.registries import RankedPolicy, Redactor, Section
from pi.coding.files.layers import FileLayer


class ShapingMembers(ApiMembers):
    """Stands in and around what a run does."""

    def add_policy(self, policy: Policy, *, at: At = "normal") -> Registration:
        """Have a policy asked in every run from the next one on."""
        guarded = owned(policy, self._instance.owner, self._shelves.failed)
        ranked = RankedPolicy(policy=guarded, at=at)
        return self._instance.add_row(self._registries.policies, ranked, at)

    def wrap_model(
        self,
        wrap: ModelWrap,
        *,
        at: At = "normal",
        purposes: frozenset[Purpose] | None = None,
    ) -> Registration:
        """Stand around every model call of the session, summaries included."""
        wrapped = Wrapped(wrap=wrap, purposes=purposes)
        return self._instance.add_row(self._registries.model_wraps, wrapped, at)

    def wrap_files(self, layer: FileLayer, *, at: At = "normal") -> Registration:
        """Stand around every write of a tool: see, change or forbid it, and add notes."""
        return self._instance.add_row(self._registries.file_layers, layer, at)

    def add_scheme(self, scheme: str, handler: ResourceHandler) -> Registration:
        """Have ``scheme://…`` read, and written if the handler can, by the tools for files."""
        return self.add_path_form(scheme_form(scheme), handler)

    def add_path_form(self, parse: ParseReference, handler: ResourceHandler) -> Registration:
        """Have every path that ``parse`` gives a reference for read and written by ``handler``."""
        reference = Reference(parse=parse, handler=handler)
        return self._instance.add_row(self._registries.references, reference)

    def add_section(self, name: str, text: Section | str) -> Registration:
        """Have one more section of the system prompt; it must be stable between turns."""
        section: Section = (lambda: text) if isinstance(text, str) else text
        return self._instance.add_name(self._registries.sections, name, section)

    def add_compaction(self, name: str, strategy: Strategy) -> Registration:
        """Have one more strategy of compaction; ``compaction.strategy`` chooses it."""
        return self._instance.add_name(self._registries.strategies, name, strategy)

    def add_redactor(self, redact: Redactor) -> Registration:
        """Change texts before they reach the log, an export or a share: ``redact(text, sink)``."""
        return self._instance.add_row(self._registries.redactors, redact)
