"""Skills: instructions that the model reads on demand or the user invokes. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from pi.base.records import Record

INTRODUCTION = """\
The following skills hold instructions for particular tasks. Before you begin with a task that
the description of a skill fits, read the file at its location. Paths in a skill are relative to
the folder of that file."""

_COMMAND = r"(?s)/skill:(\S+)(.*)"
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class Skill(Record):
    """A skill; discovery happens in a higher layer."""

    name: str
    description: str
    """When the model should read it."""
    location: str
    """Absolute path of its file."""
    content: str
    """Content of the file without front matter."""
    disable_model_invocation: bool = False
    """Only the user can invoke it; it is not shown to the model."""


def skills_section(skills: Sequence[Skill]) -> str | None:
    """Return the prompt section that lists the skills; ``None`` if there are none for the model."""
    visible = [skill for skill in skills if not skill.disable_model_invocation]
    if not visible:
        return None
    listed = "\n".join(map(_listed, visible))
    return (
        f"<skills>\n{INTRODUCTION}\n\n<available_skills>\n{listed}\n</available_skills>\n</skills>"
    )


def expand_skill(text: str, skills: Sequence[Skill]) -> str:
    """Expand ``/skill:NAME ARGS``; returns any other text unchanged."""
    command = re.fullmatch(_COMMAND, text) if text.startswith("/") else None
    skill = next((skill for skill in skills if command and skill.name == command[1]), None)
    if command is None or skill is None:
        return text
    folder = PurePath(skill.location).parent
    opening = f'<skill name="{_escaped(skill.name)}" location="{_escaped(skill.location)}">'
    expanded = (
        f"{opening}\nReferences are relative to {folder}.\n\n{skill.content.strip()}\n</skill>"
    )
    arguments = command[2].strip()
    return f"{expanded}\n\n{arguments}" if arguments else expanded


def _listed(skill: Skill) -> str:
    return (
        "  <skill>\n"
        f"    <name>{_escaped(skill.name)}</name>\n"
        f"    <description>{_escaped(skill.description)}</description>\n"
        f"    <location>{_escaped(skill.location)}</location>\n"
        "  </skill>"
    )


def _escaped(text: str) -> str:
    return text.translate(_ENTITIES)
