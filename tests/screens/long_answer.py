"""A long answer with numbered lists, tables and code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

NUMBER = re.compile(r"#(\d{4})")
"""The number of a line; each number occurs once."""


def long_answer(lines: int, *, first: int = 0) -> str:
    """Return lists, tables and code with wide characters and lines that have to wrap."""
    return "\n".join(_lines(range(first, first + lines)))


def _lines(numbers: Iterable[int]) -> Iterator[str]:
    for number in numbers:
        if number % 40 == 20:
            yield f"\n| #{number:04} | 表 |\n|---|---|\n| a | 🙂 |\n"
        elif number % 40 == 30:
            yield f"\n```python\nprint('#{number:04}')  # 注释\n```\n"
        else:
            yield f"- item #{number:04} with 中文 and 👩‍👩‍👧 so wide that it has to wrap around"
