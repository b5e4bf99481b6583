"""How old the facts about models are, in words. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from pi.ai.models.updated_catalog import UpdatedCatalog

_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"))


def catalog_age(catalog: UpdatedCatalog | None, now_ms: int) -> str:
    """Return ``updated 3 hours ago``, or ``as of 2026-11-10`` for the bundled catalog."""
    if catalog is None:
        return ""
    checked_at = catalog.checked_at
    if not catalog.is_updated:
        return f"as of {datetime.fromtimestamp(checked_at / 1000, UTC).date().isoformat()}"
    passed = max(now_ms - checked_at, 0)
    for size, unit in _UNITS:
        if count := passed // size:
            return f"updated {count} {unit}{'s' * (count > 1)} ago"
    return "updated just now"
