"""What can be typed behind a slash, as RPC tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pi.base.records import UNSET, Record, UnsetType
from pi.coding.resources.source import SourceInfo
from pi.coding.runtime.core import Core


class Command(Record):
    """One command."""

    name: str
    description: str | UnsetType = UNSET
    source: Literal["extension", "prompt", "skill"]
    source_info: SourceInfo


def listed_commands(core: Core) -> list[Command]:
    """Commands of extensions, then templates and skills of the session.

    Of a session that runs elsewhere, only what is done here: the other end has its own templates.
    """
    return list(_commands(core))


def _commands(core: Core) -> Iterator[Command]:
    for name, command in core.extensions.commands():
        yield Command(
            name=name,
            description=command.description or UNSET,
            source="extension",
            source_info=command.source,
        )
    if core.elsewhere is not None:
        return
    resources = core.workspace.resources
    for template in resources.prompts:
        yield Command(
            name=template.name,
            description=template.description or UNSET,
            source="prompt",
            source_info=template.source,
        )
    for found in resources.skills:
        yield Command(
            name=f"skill:{found.skill.name}",
            description=found.skill.description,
            source="skill",
            source_info=found.source,
        )
