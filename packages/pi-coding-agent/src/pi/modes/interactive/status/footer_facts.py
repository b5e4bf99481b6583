"""The facts of the footer, read from a session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UnsetType

from pi.ai.messages import AssistantMessage
from pi.modes.interactive.status.footer import (
    BETWEEN_MODES,
    FooterFacts,
    short_folder,
)

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort


def footer_facts(port: SessionPort, *, home: Path, branch: str) -> FooterFacts:
    """Return the facts of a session."""
    stats, usage, model = port.info.stats(), port.info.context_usage(), port.models.current
    state = port.info.state()
    name, facts = state.session_name, port.extensions.facts
    return FooterFacts(
        cwd=short_folder(port.info.cwd, home),
        branch=branch,
        session_name="" if isinstance(name, UnsetType) else name,
        input=stats.tokens.input,
        output=stats.tokens.output,
        cache_read=stats.tokens.cache_read,
        cache_write=stats.tokens.cache_write,
        hit_percent=_hit_percent(port),
        cost=stats.cost,
        context_percent=usage.percent if usage else 0.0,
        context_window=model.context_window if model else 0,
        is_automatic=state.auto_compaction_enabled,
        provider=model.provider if model else "",
        model=model.id if model else "",
        level=port.models.thinking_level if model and model.reasoning else "",
        note="no model: /login" if model is None else "",
        permissions=_mode(facts),
        approval=facts.get("approval", ""),
    )


def _mode(facts: Mapping[str, str]) -> str:
    """Return ``plan``, ``ask``, or ``plan · ask``: plan mode does not change the other one."""
    modes = ("plan" if "plan" in facts else "", facts.get("permissions", ""))
    return BETWEEN_MODES.join(filter(None, modes))


def _hit_percent(port: SessionPort) -> float | None:
    """Return the share of the last request's input that came from a cache; ``None`` if 0."""
    for message in reversed(port.info.messages()):
        if isinstance(message, AssistantMessage) and message.usage.total_tokens:
            usage = message.usage
            input_tokens = usage.input + usage.cache_read + usage.cache_write
            return (
                usage.cache_read / input_tokens * 100 if usage.cache_read and input_tokens else None
            )
    return None
