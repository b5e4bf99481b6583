"""A scripted model that fixes the functions of ``repositories/``, without a network.

pi batch tasks.jsonl -o results --isolation copy -e scripted_model.py --model faux/faux
"""

from __future__ import annotations

from typing import Any

from pi.ai import ToolResultMessage
from pi.extension import ExtensionAPI
from pi.testing import Reply, ScriptedProvider, calls, says

FIXES = {
    "initials": (
        '"".join(word[0] for word in name.split())',
        '"".join(word[0].upper() for word in name.split())',
    ),
    "is_palindrome": (
        "return text == text[::-1]",
        "return text.lower() == text.lower()[::-1]",
    ),
    "slug": (
        'replace(" ", "_")',
        'replace(" ", "-")',
    ),
    "shorten": (
        "return text[:width]",
        'return text if len(text) <= width else text[: width - 1] + "…"',
    ),
    "count_words": (
        'text.split(" ")',
        "text.split()",
    ),
    "mean": (
        "sum(values) // len(values)",
        "sum(values) / len(values)",
    ),
    "is_even": (
        "number % 2 == 1",
        "number % 2 == 0",
    ),
    "clamp": (
        "min(low, max(value, high))",
        "max(low, min(value, high))",
    ),
    "factorial": (
        "number == 1 else",
        "number < 2 else",
    ),
    "percent": (
        "{part / whole:.0f} %",
        "{part / whole:.0%}",
    ),
    "is_leap": (
        "return year % 4 == 0",
        "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
    ),
    "days": (
        "return 31 if month % 2 else 30",
        "return (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]",
    ),
    "clock": (
        '{seconds % 60}"',
        '{seconds % 60:02}"',
    ),
    "iso": (
        "{day:02}-{month:02}",
        "{month:02}-{day:02}",
    ),
    "quarter": (
        "month // 3 + 1",
        "(month - 1) // 3 + 1",
    ),
    "last": (
        "items[len(items)]",
        "items[-1]",
    ),
    "unique": (
        "list(set(items))",
        "list(dict.fromkeys(items))",
    ),
    "append_to": (
        "items + [item] if items else items.append(item) or items",
        "[*items, item]",
    ),
    "pairs": (
        "zip(items, items)",
        "zip(items, items[1:])",
    ),
    "flatten": (
        "[each for each in lists]",
        "[item for each in lists for item in each]",
    ),
}
"""The wrong and the correct code by name of the function."""


def answer(call: Any) -> Reply:
    """Edit the function that the prompt names; after the edit, end the run with a text."""
    if isinstance(call.messages[-1], ToolResultMessage):
        return says("Mended.")
    _, name, _, file = prompt(call).split()[:4]
    wrong, right = FIXES[name]
    return calls("edit", path=file.rstrip("."), edits=[{"oldText": wrong, "newText": right}])


def prompt(call: Any) -> str:
    """Return the text of the last message."""
    content = call.messages[-1].content
    return content if isinstance(content, str) else "".join(block.text for block in content)


def extension(pi: ExtensionAPI) -> None:
    """Register the model as ``faux/faux``."""
    pi.register_provider(ScriptedProvider(answer))
