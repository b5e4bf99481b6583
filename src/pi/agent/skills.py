"""Skills: instructions that the model reads when it needs them, or a person calls for. Pure."""

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
    """A skill as it was found; where and how is not known here."""

    name: str
    description: str
    """Tells the model when to read it."""
    location: str
    """Absolute path of its file."""
    content: str
    """What that file says, without its front matter."""
    disable_model_invocation: bool = False
    """Only people use it: the model is not told of it."""


def skills_section(skills: Sequence[Skill]) -> str | None:
    """What the model is told of skills; ``None`` when there are none for it."""
    shown = [skill for skill in skills if not skill.disable_model_invocation]
    if not shown:
        return None
    listed = "\n".join(map(_listed, shown))
    return (
        f"<skills>\n{INTRODUCTION}\n\n<available_skills>\n{listed}\n</available_skills>\n</skills>"
    )


def expand_skill(text: str, skills: Sequence[Skill]) -> str:
    """``/skill:NAME ARGS`` as what the model is to read; any other text as it is."""
    command = re.fullmatch(_COMMAND, text) if text.startswith("/") else None
    skill = next((skill for skill in skills if command and skill.name == command[1]), None)
    if command is None or skill is None:
        return text
    folder = PurePath(skill.location).parent
    opening = f'<skill name="{_escaped(skill.name)}" location="{_escaped(skill.location)}">'
    told = f"{opening}\nReferences are relative to {folder}.\n\n{skill.content.strip()}\n</skill>"
    arguments = command[2].strip()
    return f"{told}\n\n{arguments}" if arguments else told


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
