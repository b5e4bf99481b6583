"""Server capabilities as flags. Pure."""

from __future__ import annotations

from typing import Literal

from pi.ai.request import Call, host_of, is_within, read_flags
from pi.base.records import Record


class Fallback(Record):
    """A model that the server may use when the chosen one declines."""

    model: str


class Compat(Record):
    """Capabilities of a server; the defaults are those of Anthropic's own API for an older
    model."""

    supports_eager_tool_input_streaming: bool = True
    supports_long_cache_retention: bool = True
    supports_cache_control_on_tools: bool = True
    supports_strict_tools: bool = False
    supports_temperature: bool = True
    force_adaptive_thinking: bool = False
    """The model takes an effort instead of a budget."""
    allow_empty_signature: bool = False
    """Thinking without a signature is replayed as thinking."""
    supports_mid_convo_system_messages: bool = False
    supports_mid_convo_tool_changes: bool = False
    supports_mid_convo_effort: bool = False
    supports_message_threads: bool | None = None
    """The server continues a conversation that it has; ``None`` leaves it to the program."""
    send_session_affinity_headers: bool | None = None
    session_affinity_format: Literal["openrouter"] | None = None
    allowed_fallback_models: tuple[Fallback, ...] = ()

    @property
    def changes_tools_in_place(self) -> bool:
        """Whether tools are added and removed by system messages instead of a new list of tools."""
        return self.supports_mid_convo_tool_changes and self.supports_mid_convo_system_messages

    @property
    def session_header(self) -> str | None:
        """The header that keeps a session on one server, if there is one."""
        enabled = self.send_session_affinity_headers
        if enabled is None:
            enabled = self.session_affinity_format is not None
        if not enabled:
            return None
        return "x-session-id" if self.session_affinity_format else "x-session-affinity"


def compat_of(call: Call) -> Compat:
    """Return the flags of the call's model; unset ones follow from the base URL."""
    at_openrouter = is_within(host_of(call), "openrouter.ai")
    defaults = {"sessionAffinityFormat": "openrouter"} if at_openrouter else {}
    return read_flags(call.model, Compat, defaults)
