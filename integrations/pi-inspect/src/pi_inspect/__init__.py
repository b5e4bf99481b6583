"""pi as an agent and a solver of Inspect: ``pi_inspect.pi()``.

The module can be imported without Inspect; the agent is loaded when it is used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_inspect.agent import pi as pi
    from pi_inspect.agent import pi_solver as pi_solver

__all__ = ["pi", "pi_solver"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pi_inspect import agent

    return getattr(agent, name)
