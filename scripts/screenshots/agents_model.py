"""An extension that plays a model with sub-agents, for the pictures of the guide."""

from __future__ import annotations

import re
from typing import Any

from pi.testing import ScriptedProvider, calls, says

REVIEW = {"verdict": "approve", "summary": "Prices are rounded half up.", "findings": []}
TASKS = [
    {"agent": "scout", "name": "find-orders", "task": "Find where orders are stored."},
    {"agent": "reviewer", "name": "review", "task": "Review the last commit."},
    {"agent": "task", "name": "fix", "task": "Round prices half up, with a test."},
]
SCRIPT: dict[str, list[Any]] = {
    "": [calls("task", context="A small shop.", tasks=TASKS), says("Orders are in orders.py.")],
    "find-orders": [
        calls("bash", command="grep -rn 'class Order' ."),
        calls("yield", data={"answer": "In orders.py.", "places": [{"path": "orders.py"}]}),
    ],
    "review": [
        calls("task", agent="scout", name="callers", task="Who calls price()?"),
        calls("yield", data=REVIEW),
    ],
    "review.callers": [calls("bash", command="grep -rn 'price(' . ; sleep 60")],
    "fix": [calls("bash", command="python -m unittest; sleep 60")],
}


def extension(pi: Any) -> None:
    """Register a model that answers by the name of the calling agent."""
    script = {name: list(steps) for name, steps in SCRIPT.items()}

    def answer(call: Any) -> Any:
        found = re.search(r"Your name is ([\w.-]+)\. Another agent", str(call.messages[0]))
        steps = script[found[1] if found else ""]
        return steps.pop(0) if steps else says("done")

    pi.register_provider(ScriptedProvider(answer))
