"""What the command line wants of a session. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pi.ai.models.model import ThinkingLevel
from pi.cli.arguments import Arguments, ExtensionOption
from pi.cli.flags import LEVELS
from pi.coding.extension_host.finding import Wanted as WantedExtensions
from pi.coding.extension_host.flags import Following
from pi.coding.resources.discovery import Wanted
from pi.coding.runtime.options import SessionOptions, ToolWishes


def session_options(arguments: Arguments) -> SessionOptions:
    """The options of a session; what cannot be used is left out, see ``warnings``."""
    level = arguments.text("thinking")
    return SessionOptions(
        model=arguments.text("model"),
        provider=arguments.text("provider"),
        api_key=arguments.text("api_key"),
        thinking=cast("ThinkingLevel | None", level if level in LEVELS else None),
        models=arguments.texts("models"),
        tools=ToolWishes(
            only=arguments.texts("tools"),
            without=arguments.texts("exclude_tools") or (),
            built_in=not arguments.switch("no_builtin_tools"),
            any=not arguments.switch("no_tools"),
        ),
        resources=Wanted(
            context_files=not arguments.switch("no_context_files"),
            skills=not arguments.switch("no_skills"),
            skill_paths=arguments.texts("skill") or (),
            prompts=not arguments.switch("no_prompt_templates"),
            prompt_paths=arguments.texts("prompt_template") or (),
            system_prompt=arguments.text("system_prompt"),
            append_system_prompt=arguments.texts("append_system_prompt") or (),
        ),
        extensions=WantedExtensions(
            discover=not arguments.switch("no_extensions"),
            paths=arguments.texts("extension") or (),
            flags={option.name: _given(option) for option in arguments.extension_options},
        ),
        approve=approval(arguments),
        name=arguments.text("name"),
        offline=arguments.switch("offline"),
    )


def warnings(arguments: Arguments) -> Iterator[str]:
    """What was said and is not used."""
    level = arguments.text("thinking")
    if level is not None and level not in LEVELS:
        yield f'Warning: Invalid thinking level "{level}". Valid values: {", ".join(LEVELS)}'


def approval(arguments: Arguments) -> bool | None:
    """Trust for this run; ``None`` if nothing was said. Who says both wants to be careful."""
    if arguments.switch("no_approve"):
        return False
    return True if arguments.switch("approve") else None


def _given(option: ExtensionOption) -> bool | str:
    if option.value is None:
        return True
    return option.value if option.is_sure else Following(option.value)
