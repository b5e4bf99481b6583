"""The parts of a system prompt, as extensions change them and back. Pure."""

from __future__ import annotations

from pi.base.records import replace
from pi.coding.extension_host.prompt_options import SystemPromptOptions, tagged
from pi.coding.extension_host.run_events import BeforeAgentStartEvent
from pi.coding.prompt.sections import PromptParts, ToolNote


def options_from(parts: PromptParts) -> SystemPromptOptions:
    """What extensions are given; sections of extensions are not among it."""
    return SystemPromptOptions(
        cwd=parts.cwd,
        selected_tools=[tool.name for tool in parts.tools],
        tool_snippets={tool.name: tool.snippet for tool in parts.tools if tool.snippet},
        tool_guidelines={tool.name: list(tool.guidelines) for tool in parts.tools},
        prompt_guidelines=list(parts.guidelines),
        custom_prompt=parts.files.system or None,
        append_system_prompt=parts.files.append,
        context_files=list(parts.context),
        skills=list(parts.skills),
    )


def with_options(parts: PromptParts, options: SystemPromptOptions) -> PromptParts:
    """``parts``, as extensions have changed them."""
    tools = tuple(
        ToolNote(
            name=name,
            snippet=options.tool_snippets.get(name, ""),
            guidelines=tuple(options.tool_guidelines.get(name, ())),
        )
        for name in options.selected_tools
    )
    added = {name: tagged(name, text) for name, text in options.sections.items() if text}
    return replace(
        parts,
        tools=tools,
        guidelines=tuple(options.prompt_guidelines),
        files=replace(
            parts.files,
            system=options.custom_prompt or "",
            append=options.append_system_prompt,
        ),
        context=tuple(options.context_files),
        skills=tuple(options.skills),
        extra={**parts.extra, **added},
    )


def forced_prompt(asked: BeforeAgentStartEvent, prompt: str) -> str | None:
    """What takes the place of ``prompt``, which the options have come to; ``None`` if nothing.

    An answer that holds the prompt which handlers were told only adds to it: what others have
    changed by the options stays.
    """
    forced = asked.replacement
    if forced is None:
        forced = asked.system_prompt_options.force_system_prompt
    if forced is None or not asked.system_prompt:
        return forced
    return forced.replace(asked.system_prompt, prompt, 1)
