"""Arguments of a tool call that a model flattened, put together again. Pure.

Geminis now and then send ``{"edits[0].path": "a"}`` in place of ``{"edits": [{"path": "a"}]}``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from pi.ai.messages import Json

_PATH = r"[^.\[\]]+(?:\.[^.\[\]]+|\[\d+\])+"
_STEP = r"[^.\[\]]+"


class _Node(dict[str | int, Any]):
    """An object or a list that is being put together; values of the model's own are plain."""


def rebuilt(arguments: Json, declared: Collection[str]) -> Json:
    """``arguments`` with the objects and lists that flattened keys stand for.

    ``declared`` names the tool's parameters. Only a key that is not one of them but begins with
    one is taken apart: a dot is a fine part of a name. Pieces that do not fit together stay as
    they came.
    """
    flat = {key: steps for key in arguments if (steps := _steps(key, declared))}
    if not flat:
        return arguments
    root = _Node({key: value for key, value in arguments.items() if key not in flat})
    for key, steps in flat.items():
        if not _put(root, steps, arguments[key]):
            return arguments
    return {str(key): _whole(value) for key, value in root.items()}


def _steps(key: str, declared: Collection[str]) -> list[str | int]:
    """The way that a flattened key describes; empty for a key that is just a name."""
    if key in declared or not re.fullmatch(_PATH, key):
        return []
    first, *rest = re.finditer(_STEP, key)
    if first[0] not in declared:
        return []
    return [first[0], *(int(step[0]) if _is_index(key, step) else step[0] for step in rest)]


def _is_index(key: str, step: re.Match[str]) -> bool:
    return key[step.start() - 1] == "["


def _put(root: _Node, steps: list[str | int], value: Any) -> bool:
    """Put ``value`` in its place; ``False`` when something else is there."""
    node: Any = root
    *way, last = steps
    for step in way:
        if not _fits(node, step):
            return False
        node = node.setdefault(step, _Node())
    if not _fits(node, last) or last in node:
        return False
    node[last] = value
    return True


def _fits(node: Any, step: str | int) -> bool:
    """Whether ``node`` is ours, and not a list where a name is wanted or the other way round."""
    return isinstance(node, _Node) and type(next(iter(node), step)) is type(step)


def _whole(value: Any) -> Any:
    if not isinstance(value, _Node):
        return value
    if isinstance(next(iter(value)), int):
        return [_whole(item) for _, item in sorted(value.items())]
    return {key: _whole(item) for key, item in value.items()}
