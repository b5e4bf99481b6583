"""Files that bring nothing but tools: ``tools/*.py``.

Such a file has ``def tools(pi)``, which gives a tool or several of them, or just functions that
``@tool`` makes tools of. It may also import what it needs from ``pi.extension``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pi.agent.tool import AgentTool
from pi.base.records import replace
from pi.base.tasks import awaited
from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.extension_host.failures import ExtensionError
from pi.coding.extension_host.finding import Candidate
from pi.coding.extension_host.modules import module_at
from pi.coding.tools.registry import DEFAULT_TOOLS, READ_ONLY_TOOLS

FACTORY = "tools"
BUILT_IN = frozenset((*DEFAULT_TOOLS, *READ_ONLY_TOOLS))


Taken: TypeAlias = dict[str, Path]
"""Names of tools, and the files that have them."""


def bringing_tools(candidate: Candidate, taken: Taken) -> Candidate:
    """An extension that registers the tools of the file or folder of ``candidate``.

    ``taken`` is shared by those of which each must have names of its own.
    """
    assert candidate.path is not None
    return replace(candidate, factory=partial(_register, candidate.path, taken))


async def _register(path: Path, taken: Taken, pi: ExtensionAPI) -> None:
    """Register the tools of a file; ``ExtensionError`` if there are none, or a name is taken."""
    module = module_at(path)
    if (factory := getattr(module, FACTORY, None)) is not None:
        tools = _several(await awaited(factory(pi)))
    else:
        tools = [each for each in vars(module).values() if isinstance(each, AgentTool)]
    if not tools:
        raise ExtensionError(
            f"{path} brings no tool.", hint="Write `def tools(pi): ...`, or a function with @tool."
        )
    for tool in tools:
        _must_be_free(tool, path, taken)
    for tool in tools:
        pi.register_tool(tool)
        taken[tool.name] = path


def _several(made: Any) -> list[Any]:
    is_list = isinstance(made, Iterable) and not isinstance(made, Mapping)
    return list(made) if is_list else [made]


def _must_be_free(tool: Any, path: Path, taken: Taken) -> None:
    """A tool of such a file replaces no other one: an extension can, on purpose."""
    name = getattr(tool, "name", "")
    if taken.get(name, path) != path:
        raise ExtensionError(
            f"The tool {name} of {path} has the name of one in {taken[name]}.",
            hint="Call one of them something else.",
        )
    if name in BUILT_IN:
        raise ExtensionError(
            f"The tool {name} of {path} has the name of a built-in tool.",
            hint="Call it something else, or replace the other one with an extension.",
        )
