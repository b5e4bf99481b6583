"""pi as a harness of verifiers: ``--env.agent.harness.id pi-verifiers``.

verifiers reads ``__all__`` and takes the one harness in it. The module can be imported without
verifiers; the class is loaded when it is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_verifiers.harness import PiHarness as PiHarness

__all__ = ["PiHarness"]


def __getattr__(name: str) -> Any:
    if name != "PiHarness":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pi_verifiers.harness import PiHarness

    return PiHarness
