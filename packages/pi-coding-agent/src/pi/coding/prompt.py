"""The sections of the system prompt, and the options that extensions may change. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from pi.agent.skills import Skill, skills_section
from pi.base.records import Record
from pi.coding.resources.discovery import PromptFiles
from pi.coding.resources.instructions import ContextFile

PREAMBLE = """\
You are pi, a coding agent that works in the user's terminal. You read and change files, run \
commands and answer questions about the project in the current folder. The user watches what you \
do and may interrupt you at any time.
The session began on {date}."""

HEADLESS_PREAMBLE = """\
You are pi, a coding agent. You read and change files, run commands and answer questions about the \
project in the current folder. Nobody watches and nobody can answer: where something is open, \
decide it yourself and say what you decided. The work is finished when everything that was asked \
is done and you have checked it by running it; do not stop before, and say plainly what you could \
not do.
The session began on {date}."""
"""The preamble when no user can answer: in print and JSON mode and in batches."""

RULES = (
    "Find out how things are before you change them, and check what you did: run it.",
    "Keep to what was asked. Mention it when you notice something else.",
    "Name files by their path when you speak of them.",
    "Be brief.",
)

DOCS = """\
Documentation of pi itself is in {docs}: read it when the user asks about pi, its settings, \
its extensions, skills or its Python API, and at no other time. Start with README.md."""

CONTEXT_HEADING = "Instructions for this project, from the most general to the nearest file:"


class ToolNote(Record):
    """Prompt text of one active tool."""

    name: str
    snippet: str = ""
    """Empty: the tool is not listed in the prompt; the model still gets its declaration."""
    guidelines: tuple[str, ...] = ()


class PromptParts(Record):
    """The input of a prompt."""

    cwd: str
    date: str
    """Start date of the session, so that the prompt never changes."""
    headless: bool = False
    """Whether no user can answer."""
    docs: str
    """The folder of pi's documentation; empty if it is not installed."""
    tools: tuple[ToolNote, ...] = ()
    files: PromptFiles = PromptFiles()
    context: tuple[ContextFile, ...] = ()
    skills: tuple[Skill, ...] = ()
    guidelines: tuple[str, ...] = ()
    """Additional rules of extensions."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Sections of extensions, by name."""


def prompt_sections(parts: PromptParts) -> dict[str, str]:
    """Return the non-empty sections by name, in order.

    A custom prompt replaces everything about pi and its tools.
    """
    base = {"preamble": parts.files.system} if parts.files.system else _make_sections(parts)
    sections = {
        **base,
        "addendum": _tag("addendum", parts.files.append),
        "project_context": _tag("project_context", _context(parts.context)),
        "skills": _skills(parts) or "",
        **parts.extra,
        "cwd": _tag("cwd", parts.cwd),
    }
    return {name: text for name, text in sections.items() if text}


def _make_sections(parts: PromptParts) -> dict[str, str]:
    listed = [f"- {tool.name}: {tool.snippet}" for tool in parts.tools if tool.snippet]
    advice = [line for tool in parts.tools for line in tool.guidelines]
    rules = dict.fromkeys((*advice, *parts.guidelines, *RULES))  # without duplicates
    preamble = HEADLESS_PREAMBLE if parts.headless else PREAMBLE
    return {
        "preamble": preamble.format(date=parts.date),
        "tools": _tag("tools", "\n".join(listed) or "(none)"),
        "rules": _tag("rules", "\n".join(f"- {rule}" for rule in rules)),
        "docs": _tag("docs", DOCS.format(docs=parts.docs)) if parts.docs else "",
    }


def _context(files: Sequence[ContextFile]) -> str:
    return f"{CONTEXT_HEADING}\n\n{project_instructions(files)}" if files else ""


def project_instructions(files: Sequence[ContextFile]) -> str:
    """Return instruction files as the model gets them."""
    return "\n".join(
        f'<project_instructions path="{file.path}">\n{file.content.rstrip()}\n'
        "</project_instructions>"
        for file in files
    )


def _skills(parts: PromptParts) -> str | None:
    """Return the skills section, if a tool can read the skill files."""
    readers = {"read", "bash"}
    can_read = any(tool.name in readers for tool in parts.tools)
    return skills_section(parts.skills) if can_read else None


def _tag(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>" if text else ""


class SystemPromptOptions(Struct):
    """Inputs of the system prompt that extensions may change in place. Valid for one run."""

    cwd: str
    selected_tools: list[str] = field(default_factory=list)
    tool_snippets: dict[str, str] = field(default_factory=dict)
    tool_guidelines: dict[str, list[str]] = field(default_factory=dict)
    prompt_guidelines: list[str] = field(default_factory=list)
    custom_prompt: str | None = None
    """Replaces everything about pi and its tools."""
    append_system_prompt: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    """Additional sections, by name."""
    context_files: list[ContextFile] = field(default_factory=list)
    skills: list[Skill] = field(default_factory=list)
    force_system_prompt: str | None = None
    """Replaces the whole prompt, in the requests of this run only."""


def tagged(name: str, text: str) -> str:
    """Return a section wrapped in tags of its name."""
    return f"<{name}>\n{text}\n</{name}>"
