"""Screens of the batteries for the visual review; they join ``SCENES``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from scripts.screenshots.loopback_model import Answer
from scripts.screenshots.program import Seen
from scripts.screenshots.scenes import ENTER, TOOLS, WITH_TOOLS, Scene

PLAN = """\
# Discounts in the cart

1. `cart.py`: `total(items, discount=0)` subtracts a share of the sum and rounds to cents.
2. `test_cart.py`: one test for 10 %, one for no discount.

Left open: vouchers, which need a table of their own.
"""
QUESTION = {
    "id": "rounding",
    "header": "Rounding",
    "question": "How should a discounted total be rounded?",
    "recommended": 0,
    "options": [
        {"label": "To cents", "description": "as invoices do", "preview": "total(items)\n→ 6.3"},
        {"label": "Not at all", "description": "callers decide", "preview": "→ 6.300000000000001"},
    ],
}
TASKS = [
    {"phase": "Median", "items": ["Read stats.py", "Take the mean of two", "Run the tests"]},
]
SLEEP = {"command": "echo begun; sleep 60", "async": True}
MCP_SERVERS = {
    "files": {"command": sys.executable, "args": ["-c", "import time; time.sleep(60)"]},
    "tracker": {"command": "no-such-program", "args": []},
    "old": {"command": "npx", "args": ["old-server"], "enabled": False},
}


def after(*steps: tuple[str, str]) -> Callable[[Seen], None]:
    """Type the texts one after the other, and wait for the expected text of each."""

    def act(seen: Seen) -> None:
        seen.wait_while_moving(" of ")  # the footer has a model
        for text, expected in steps:
            seen.type(text + ENTER)
            seen.wait_while_moving(expected)

    return act


def prompted(last: str, *steps: tuple[str, str]) -> Callable[[Seen], None]:
    """Send a prompt, wait until ``last`` is shown, then goes on with the steps."""
    return after(("Fix the median", last), *steps)


def on(*names: str) -> dict[str, object]:
    """Settings that switch batteries on."""
    return {name: {"enabled": True} for name in names}


def arguments(*more: str) -> Sequence[str]:
    """The scripted model, and other flags."""
    return ("--model", "loopback/scripted-large", *more)


BATTERY_SCENES: dict[str, Scene] = {
    "ask": Scene(
        prompted("To cents"),
        answers=(Answer("One thing first.", "ask", {"questions": [QUESTION]}),),
        settings=on("ask"),
    ),
    "plan": Scene(
        prompted("Approve and compact"),
        answers=(Answer("", "propose_plan", {"title": "Discounts", "plan": PLAN}),),
        arguments=arguments("--plan-mode"),
        settings=on("plan"),
    ),
    "permission": Scene(
        prompted("Escape"),
        answers=(Answer("", "bash", {"command": "rm -rf build && make -j4 install"}),),
        settings={"permissions": {"mode": "ask"}},
    ),
    "permission-edit": Scene(
        prompted("Escape"), answers=TOOLS[4:5], settings={"permissions": {"mode": "ask"}}
    ),
    "permissions": Scene(after(("/permissions", "ask")), settings={"permissions": {"mode": "ask"}}),
    "rewind": Scene(
        prompted("Changed it", ("/rewind 1", "Enter")),
        answers=TOOLS,
        arguments=WITH_TOOLS,
        settings=on("rewind"),
        rows=50,
    ),
    "rewind-list": Scene(
        prompted("Changed it", ("/rewind", "Enter")),
        answers=TOOLS,
        arguments=WITH_TOOLS,
        settings=on("rewind"),
    ),
    "memory": Scene(
        after(
            ("/remember Tests run with python3 -m pytest -q", "emember"),
            ("/remember --user Answers are short", "emember"),
            ("/memory", "user: Answers"),
        ),
        settings={"memories": {"enabled": True}},
    ),
    "jobs": Scene(
        prompted("running there", ("/jobs", "sleep 60")),
        answers=(Answer("", "bash", SLEEP), Answer("It is running there.")),
        settings={"async": {"enabled": True}},
    ),
    "lsp": Scene(after(("/lsp", "erver")), settings=on("lsp")),
    "mcp": Scene(
        after(("/mcp", "tracker")),
        settings=on("mcp"),
        home_files={".pi/agent/mcp.json": json.dumps({"mcpServers": MCP_SERVERS})},
    ),
    "todo": Scene(
        prompted("Noted.", ("/todo", "Run the tests")),
        answers=(
            Answer("", "todo", {"ops": [{"op": "init", "list": TASKS}]}),
            Answer("Noted."),
        ),
        settings=on("todo"),
    ),
    "collab": Scene(after(("/collab", "ollab"))),
    "compact-preview": Scene(
        prompted("Changed it", ("/compact --preview", "ompaction")),
        answers=TOOLS,
        arguments=WITH_TOOLS,
        settings={"compaction": {"keepRecentTokens": 1}},
    ),
    "roles": Scene(after(("/roles", "smol"))),
    "rules": Scene(after(("/rules", "ule"))),
    "secrets": Scene(after(("/secrets", "ecret"))),
    "sandbox": Scene(after(("/sandbox", "andbox"))),
    "hooks": Scene(after(("/hooks", "ook"))),
    "advisor": Scene(after(("/advisor", "dvi"))),
    "timebox": Scene(after(("/timebox 15m turns:5", "15"))),
    "doctor": Scene(after(("/doctor", "ython")), rows=60),
    "agents": Scene(
        after(
            ("Find the orders, review the last commit.", "review.callers"),
            ("/agents", "Enter transcript"),
        ),
        arguments=(
            *("-e", str(Path(__file__).with_name("agents_model.py"))),
            *("--model", "faux/faux"),
        ),
        settings=on("task"),
    ),
}
