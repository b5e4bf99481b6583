"""The program that matches what may take long: Python patterns and syntax trees.

It runs in a process of its own, because ``re`` has no time limit and the parser of a language may
crash. It reads one frame per request and writes one frame per pattern, so that the reader knows
which pattern it waits for. It uses nothing of pi.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, BinaryIO


def main() -> None:
    """Answer requests until the input ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    # The parser prints a backtrace when it fails; the failure itself is in the answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while (request := read_frame(source)) is not None:
        for number in range(len(request["patterns"])):
            write_frame(sink, _answer(request, number))


def read_frame(source: BinaryIO) -> Any:
    """The next request; ``None`` at the end."""
    header = source.read(4)
    if len(header) < 4:
        return None
    return json.loads(source.read(int.from_bytes(header, "big")))


def write_frame(sink: BinaryIO, value: Any) -> None:
    """Write one answer."""
    data = json.dumps(value).encode()
    sink.write(len(data).to_bytes(4, "big") + data)
    sink.flush()


def _answer(request: dict[str, Any], number: int) -> dict[str, Any]:
    """Whether a pattern matches ``text`` more often than ``removed``."""
    pattern = request["patterns"][number]
    try:
        count = _tree_counter(request["language"]) if request["language"] else _count
        found = count(pattern, request["text"], request["lines"])
        before = count(pattern, request["removed"], None) if found and request["removed"] else 0
    except BaseException as error:  # a panic of the parser is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    return {"matched": found > before}


def _count(pattern: str, text: str, lines: int | None) -> int:
    return sum(1 for _ in re.compile(pattern, re.ASCII).finditer(text))


def _tree_counter(language: str) -> Callable[[str, str, int | None], int]:
    from ast_grep_py import SgRoot  # installed with the extra "rules"

    def count(pattern: str, text: str, lines: int | None) -> int:
        found = SgRoot(text, language).root().find_all(pattern=pattern)
        return sum(1 for node in found if lines is None or node.range().end.line < lines)

    return count


if __name__ == "__main__":
    main()
