"""What the model is told before anything else, section by section. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from pi.agent.skills import Skill, skills_section
from pi.base.records import Record
from pi.coding.resources.context_files import ContextFile, PromptFiles

PREAMBLE = """\
You are pi, a coding agent that works in the terminal of the person you talk to. You read and \
change files, run commands and answer questions about the project in the current folder. The \
person watches what you do and may interrupt you at any time.
The session began on {date}."""

RULES = (
    "Find out how things are before you change them, and check what you did: run it.",
    "Keep to what was asked. Say so when you notice something else.",
    "Name files by their path when you speak of them.",
    "Be brief.",
)

DOCS = """\
Documentation of pi itself is in {docs}: read it when the person asks about pi, its settings, \
its extensions, skills or its Python API, and at no other time. Start with README.md."""

CONTEXT_HEADING = "Instructions for this project, from the most general to the nearest file:"


class ToolNote(Record):
    """What the prompt says of one tool that is on."""

    name: str
    snippet: str = ""
    """Without one the tool is not listed here; the model knows its description anyway."""
    guidelines: tuple[str, ...] = ()


class PromptParts(Record):
    """Everything that a prompt is made of."""

    cwd: str
    date: str
    """Of the session's beginning, so that it never changes."""
    docs: str
    """The folder of pi's own documentation; empty where it is not installed."""
    tools: tuple[ToolNote, ...] = ()
    files: PromptFiles = PromptFiles()
    context: tuple[ContextFile, ...] = ()
    skills: tuple[Skill, ...] = ()
    guidelines: tuple[str, ...] = ()
    """Further rules, from extensions."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Sections of extensions, by name."""


def prompt_sections(parts: PromptParts) -> dict[str, str]:
    """The sections that there are, by name and in their order.

    A prompt of the person's own replaces everything that is said about pi and its tools.
    """
    base = {"preamble": parts.files.system} if parts.files.system else _own(parts)
    sections = {
        **base,
        "addendum": _tagged("addendum", parts.files.append),
        "project_context": _tagged("project_context", _context(parts.context)),
        "skills": _skills(parts) or "",
        **parts.extra,
        "cwd": _tagged("cwd", parts.cwd),
    }
    return {name: text for name, text in sections.items() if text}


def _own(parts: PromptParts) -> dict[str, str]:
    listed = [f"- {tool.name}: {tool.snippet}" for tool in parts.tools if tool.snippet]
    advice = [line for tool in parts.tools for line in tool.guidelines]
    rules = dict.fromkeys((*advice, *parts.guidelines, *RULES))  # each said once
    return {
        "preamble": PREAMBLE.format(date=parts.date),
        "tools": _tagged("tools", "\n".join(listed) or "(none)"),
        "rules": _tagged("rules", "\n".join(f"- {rule}" for rule in rules)),
        "docs": _tagged("docs", DOCS.format(docs=parts.docs)) if parts.docs else "",
    }


def _context(files: Sequence[ContextFile]) -> str:
    if not files:
        return ""
    quoted = (
        f'<project_instructions path="{file.path}">\n{file.content.rstrip()}\n'
        "</project_instructions>"
        for file in files
    )
    return "\n".join((f"{CONTEXT_HEADING}\n", *quoted))


def _skills(parts: PromptParts) -> str | None:
    """Skills are of use only to somebody who can read their files."""
    readers = {"read", "bash"}
    can_read = any(tool.name in readers for tool in parts.tools)
    return skills_section(parts.skills) if can_read else None


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>" if text else ""


# What a system prompt is made of, as extensions may change it before a run.


class SystemPromptOptions(Struct):
    """Changed in place; holds for one run. The next one begins with what there is then."""

    cwd: str
    selected_tools: list[str] = field(default_factory=list)
    tool_snippets: dict[str, str] = field(default_factory=dict)
    tool_guidelines: dict[str, list[str]] = field(default_factory=dict)
    prompt_guidelines: list[str] = field(default_factory=list)
    custom_prompt: str | None = None
    """In place of everything that is said about pi and its tools."""
    append_system_prompt: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    """Further sections, by name."""
    context_files: list[ContextFile] = field(default_factory=list)
    skills: list[Skill] = field(default_factory=list)
    force_system_prompt: str | None = None
    """In place of the whole prompt, in the requests of this run only."""


def tagged(name: str, text: str) -> str:
    """A section as prompts have it: between tags of its name."""
    return f"<{name}>\n{text}\n</{name}>"
