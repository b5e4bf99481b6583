"""What a system prompt is made of, as extensions may change it before a run."""

from __future__ import annotations

from msgspec import Struct, field

from pi.agent.skills import Skill
from pi.coding.resources.context_files import ContextFile


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
