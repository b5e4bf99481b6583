"""Line 2: the chosen items in a row, fitted to the width. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pi.batteries.status_engine.items import CATALOGUE, StatusItem
from pi.batteries.status_engine.state import StatusEngineState
from pi.batteries.status_engine.typesetting import Typesetting

SEPARATOR = " | "
ELASTIC: tuple[StatusItem, ...] = ("git_branch", "workspace_name", "model")
"""Those that are shortened when there is not enough room, in this order."""
LEAST = 8
"""Columns that a shortened item keeps: fewer tell nothing."""


def compose(
    items: Sequence[StatusItem], state: StatusEngineState, width: int, text: Typesetting
) -> str:
    """The items that have something to say, in at most ``width`` columns."""
    shown = {item: said for item in items if (said := text.plain(CATALOGUE[item](state)))}
    for item in ELASTIC:
        excess = text.width(_joined(shown)) - width
        if excess > 0 and item in shown:
            room = max(text.width(shown[item]) - excess, LEAST)
            shown[item] = text.centred(shown[item], room)
    return text.fitted(_joined(shown), width)


def _joined(shown: Mapping[StatusItem, str]) -> str:
    line, before = "", ""
    for item, said in shown.items():
        if line:  # the counts belong to the branch that they follow
            line += " " if (before, item) == ("git_branch", "git_counts") else SEPARATOR
        line, before = line + said, item
    return line
