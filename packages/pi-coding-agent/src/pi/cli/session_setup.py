"""Converts the command line to session options, and reports them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from pi.agent.tools.names import are_changes
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.cli.arguments import Arguments, ExtensionOption
from pi.cli.options import LEVELS
from pi.coding.extension_host.contributions.flags import FollowingWord
from pi.coding.extension_host.discovery.finding import ExtensionOptions
from pi.coding.resources.discovery import ResourceOptions
from pi.coding.runtime.options import SessionOptions, ToolFilter
from pi.version import __version__

if TYPE_CHECKING:
    from pi.coding.port.extensions import ExtensionInfo
    from pi.coding.runtime.assemble import AssembledSession


def session_options(arguments: Arguments) -> SessionOptions:
    """Return the options of a session; invalid ones are left out, see ``warnings``."""
    options = arguments.options
    level = options.get("thinking")
    return SessionOptions(
        model=options.get("model"),
        provider=options.get("provider"),
        api_key=options.get("api_key"),
        thinking=cast("ThinkingLevel | None", level if level in LEVELS else None),
        models=options.get("models"),
        tools=ToolFilter(
            only=None if are_changes(names := options.get("tools", ())) else options.get("tools"),
            changes=names if are_changes(names) else (),
            without=options.get("exclude_tools", ()),
            built_in="no_builtin_tools" not in options,
            any="no_tools" not in options,
        ),
        resources=ResourceOptions(
            context_files="no_context_files" not in options,
            skills="no_skills" not in options,
            skill_paths=options.get("skill", ()),
            prompts="no_prompt_templates" not in options,
            prompt_paths=options.get("prompt_template", ()),
            system_prompt=options.get("system_prompt"),
            append_system_prompt=options.get("append_system_prompt", ()),
        ),
        extensions=ExtensionOptions(
            discover="no_extensions" not in options,
            keeps_guards=True,
            paths=options.get("extension", ()),
            flags={option.name: _flag_value(option) for option in arguments.extension_options},
        ),
        approve=approval(arguments),
        config_files=options.get("config", ()),
        name=options.get("name"),
        offline="offline" in options,
        settings={
            **({"batteries": options["batteries"]} if "batteries" in options else {}),
            **({"mcp": {"enabled": False}} if "no_mcp" in options else {}),
        },
    )


def warnings(arguments: Arguments) -> Iterator[str]:
    """Yield warnings about options that are ignored."""
    level = arguments.options.get("thinking")
    if level is not None and level not in LEVELS:
        yield f'Warning: Invalid thinking level "{level}". Valid values: {", ".join(LEVELS)}'


def approval(arguments: Arguments) -> bool | None:
    """Return whether the project is trusted for this run; ``None`` without an option.

    ``--no-approve`` wins over ``--approve``.
    """
    if "no_approve" in arguments.options:
        return False
    return True if "approve" in arguments.options else None


def _flag_value(option: ExtensionOption) -> bool | str:
    if option.value is None:
        return True
    return option.value if option.is_attached else FollowingWord(option.value)


# Requested session --------------------------------------------------------------------------------


def verbose_report(built: AssembledSession) -> Iterator[str]:
    """Yield the lines of ``--verbose``: where everything was loaded from."""
    state, workspace = built.session.info.state(), built.session.workspace
    yield f"pi {__version__}"
    yield f"folder: {workspace.cwd} ({_trust(built)})"
    model = f"{state.model.provider}/{state.model.id}" if state.model else "none"
    yield f"model: {model}, thinking {state.thinking_level}"
    yield f"session: {state.session_file or 'in memory only'}"
    for title, names in (
        ("instructions", [file.path for file in workspace.resources.context.files]),
        ("skills", [skill.skill.name for skill in workspace.resources.skills]),
        ("prompt templates", [prompt.name for prompt in workspace.resources.prompts]),
        ("extensions", [_extension(info) for info in built.session.extensions.infos()]),
        ("variables from .env files", sorted(workspace.environment.from_files)),
    ):
        if names:
            yield f"{title}: {', '.join(names)}"


def _extension(info: ExtensionInfo) -> str:
    """Return the name of an extension, and its load time or why it was not loaded."""
    loaded = f"{info.milliseconds:.1f} ms" if info.state == "loaded" else "loaded on first use"
    return f"{info.name} ({info.problem or loaded})"


def _trust(built: AssembledSession) -> str:
    trust = built.session.workspace.trust
    if trust.source == "nothing to trust":
        return trust.source
    return f"{'trusted' if trust.trusted else 'not trusted'}: {trust.source}"
