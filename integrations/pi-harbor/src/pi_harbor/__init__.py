"""Runs pi in Harbor: ``harbor run --agent-import-path pi_harbor:Pi``.

The module can be imported without Harbor; its class is loaded when it is used.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_harbor.agent import Pi as Pi

REGISTRY_RECORD = Path(__file__).parent / "agent.json"
"""The record for ``harbor run --agent acp --agent-kwarg registry_entry_path=…``."""

__all__ = ["REGISTRY_RECORD", "Pi"]


def __getattr__(name: str) -> Any:
    if name != "Pi":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pi_harbor.agent import Pi

    return Pi
