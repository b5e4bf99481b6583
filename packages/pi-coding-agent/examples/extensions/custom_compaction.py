"""``"compaction": {"strategy": "first-lines"}``: a summary without a model."""

from __future__ import annotations

from pi.extension import (
    CompactionResult,
    Declined,
    ExtensionAPI,
    Text,
    UserMessage,
    Work,
)


class FirstLines:
    """Keeps the first line of every user message."""

    async def compact(self, work: Work) -> CompactionResult | Declined:
        """Return a summary, or the reason why another strategy should be tried."""
        if work.preparation is None:
            return Declined(why=work.why_not)
        lines = []
        for item in work.items:
            if isinstance(item.message, UserMessage):
                content = item.message.content
                parts = (Text(text=content),) if isinstance(content, str) else content
                lines += [p.text.partition("\n")[0] for p in parts if isinstance(p, Text)]
        return CompactionResult(
            summary="The user asked:\n" + "\n".join(f"- {line}" for line in lines),
            first_kept_id=work.preparation.first_kept_id,
            tokens_before=work.tokens,
        )


def extension(pi: ExtensionAPI) -> None:
    """Register the strategy; the setting ``compaction.strategy`` selects it."""
    pi.add_compaction("first-lines", FirstLines())
