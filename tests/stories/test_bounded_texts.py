"""Texts of models, servers and files that could cause quadratic or exponential matching."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase

import pytest

from pi.agent.compaction.text import escape_tags
from pi.base.formats import BadFormat, parse_jsonc, split_front_matter
from pi.base.terminal_text import sanitise
from pi.batteries.shell_session.command_lines import clean_command
from pi.coding.resources.prompts import split_arguments
from pi.coding.tools.matching import elisions
from pi.modes.interactive.dialogs.panel import summarise_message
from pi.modes.interactive.transcript.messages import as_typed
from pi.modes.interactive.transcript.tool_views.shell_tools import _ENDING
from pi.tui.text.ansi import strip_sequences

MANY = 200_000
SECONDS = 2.0
"""Limit of CPU time: linear processing takes a hundredth of it, quadratic processing minutes."""


def relaxed(text: str) -> None:
    with suppress(ValueError, BadFormat):
        parse_jsonc(text)


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (escape_tags, "<" + " " * MANY),
        (escape_tags, "< / " * MANY),
        (relaxed, '{"a": ' + '"\\' * MANY),
        (relaxed, "{/" + "*/" * MANY + "/*" * MANY),
        (relaxed, "{" + "," * MANY),
        (sanitise, "\x1b]" * MANY),
        (sanitise, "\x1b[" + "1" * MANY),
        (strip_sequences, "\x1b]" * MANY),
        (strip_sequences, "\x1b_" + "x" * MANY),
        (split_front_matter, "---\n" + "\n---" * MANY),
        (split_front_matter, "---" + " " * MANY),
        (split_arguments, "'\"" * MANY),
        (clean_command, "ls" + " " * MANY + "x"),
        (clean_command, "ls |" + " " * MANY + "| head"),
        (clean_command, "cd a &&" + " " * MANY),
        (elisions, "... existing code" + " " * MANY + "x"),
        (elisions, "..." + " " * MANY + "x"),
        (summarise_message, '<file name="' + "/" * MANY),
        (summarise_message, '<file name="a">' * (MANY // 10)),
        (as_typed, '<file name="a">\n' * (MANY // 10)),
        (as_typed, '<skill name="a" location="b">\n' + "\n</skill>" * (MANY // 10)),
        (_ENDING.search, "\n" * MANY + "x"),
        (lambda text: fnmatchcase(text, "*a" * 30 + "b"), "a" * MANY),
    ],
)
def test_hostile_texts_are_processed_in_linear_time(
    work: Callable[[str], object], text: str
) -> None:
    begin = time.thread_time()

    work(text)

    assert time.thread_time() - begin < SECONDS
