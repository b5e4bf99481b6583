"""The facts of the footer, asked of the session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.messages import AssistantMessage
from pi.base.records import UnsetType
from pi.modes.interactive.status.footer import FooterFacts, short_folder

if TYPE_CHECKING:
    from pi.coding.runtime.port import SessionPort


def footer_facts(port: SessionPort, *, home: Path, branch: str) -> FooterFacts:
    """What the footer tells about a session."""
    stats, usage, model = port.facts.stats(), port.facts.context_usage(), port.models.current
    state = port.facts.state()
    name = state.session_name
    return FooterFacts(
        cwd=short_folder(port.facts.cwd, home),
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
    )


def _hit_percent(port: SessionPort) -> float | None:
    """How much of the last request's input came from a cache, if any ever did."""
    for message in reversed(port.facts.messages()):
        if isinstance(message, AssistantMessage) and message.usage.total_tokens:
            usage = message.usage
            asked = usage.input + usage.cache_read + usage.cache_write
            return usage.cache_read / asked * 100 if usage.cache_read and asked else None
    return None
