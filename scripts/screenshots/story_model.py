"""An extension that plays a model: it plans, three agents carry it out, and one reviews it."""

from __future__ import annotations

import re
from typing import Any

from pi.testing import ScriptedProvider, calls, says

PLAN = """\
# Discounts in the cart

1. `cart.py`: `total(items, discount=0)` subtracts a share and rounds to cents.
2. `test_cart.py`: one test for 10 %, one for no discount.
3. `README.md`: one example.

Three agents work on these at the same time; a reviewer reads the result.
"""
CART = """\
def total(items, discount=0):
    whole = sum(item["price"] for item in items)
    return round(whole * (1 - discount), 2)
"""
TESTS = """\
from cart import total

assert total([{"price": 7}]) == 7
assert total([{"price": 7}], discount=0.1) == 6.3
"""
README = "# Cart\n\n`total(items, discount=0.1)` takes ten per cent off.\n"
TASKS = [
    {"name": "code", "task": "Add the discount to total() in cart.py."},
    {"name": "tests", "task": "Write test_cart.py."},
    {"name": "docs", "task": "Describe the discount in README.md."},
]
REVIEW = {
    "verdict": "approve",
    "summary": "Totals are rounded to cents, and the tests pass.",
    "findings": [],
}
SCRIPT: dict[str, list[Any]] = {
    "": [
        calls("task", agent="scout", name="look", task="Where are totals computed?"),
        calls("propose_plan", title="Discounts in the cart", plan=PLAN),
        calls("task", context="The approved plan.", tasks=TASKS),
        calls("task", agent="reviewer", name="review", task="Review the discounts."),
        says("Discounts are in: `total` takes one, two tests cover it, and the review approves."),
    ],
    "look": [
        # An agent of plan mode cannot write either.
        calls("write", path="early.txt", content="x"),
        calls("bash", command="grep -n 'def total' *.py"),
        calls("yield", data={"answer": "In cart.py, line 1.", "places": [{"path": "cart.py"}]}),
    ],
    "code": [calls("write", path="cart.py", content=CART), calls("yield", data="Done.")],
    "tests": [
        calls("write", path="test_cart.py", content=TESTS),
        calls("yield", data="Two tests."),
    ],
    "docs": [calls("write", path="README.md", content=README), calls("yield", data="One example.")],
    "review": [
        calls("bash", command="python3 -B test_cart.py && echo passed"),
        calls("yield", data=REVIEW),
    ],
}


def extension(pi: Any) -> None:
    """Register a model that answers by the name of the calling agent."""
    script = {name: list(steps) for name, steps in SCRIPT.items()}

    def answer(call: Any) -> Any:
        found = re.search(r"Your name is ([\w.-]+)\. Another agent", str(call.messages[0]))
        steps = script.get(found[1] if found else "", [])
        return steps.pop(0) if steps else says("done")

    pi.register_provider(ScriptedProvider(answer))
