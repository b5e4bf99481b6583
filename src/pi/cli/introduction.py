"""What ``--verbose`` tells at the start: where everything comes from."""

from __future__ import annotations

from collections.abc import Iterator

from pi import __version__
from pi.coding.extension_host.loading import ExtensionInfo
from pi.coding.runtime.assemble import Assembled


def introduction(built: Assembled) -> Iterator[str]:
    """The lines."""
    state, workspace = built.session.facts.state(), built.workspace
    yield f"pi {__version__}"
    yield f"folder: {workspace.cwd} ({_trust(built)})"
    model = f"{state.model.provider}/{state.model.id}" if state.model else "none"
    yield f"model: {model}, thinking {state.thinking_level}"
    yield f"session: {state.session_file or 'kept in memory only'}"
    for title, names in (
        ("instructions", [file.path for file in workspace.resources.context.files]),
        ("skills", [found.skill.name for found in workspace.resources.skills]),
        ("prompt templates", [prompt.name for prompt in workspace.resources.prompts]),
        ("extensions", [_extension(info) for info in built.session.extensions.infos()]),
        ("variables from .env files", sorted(workspace.environment.from_files)),
    ):
        if names:
            yield f"{title}: {', '.join(names)}"


def _extension(info: ExtensionInfo) -> str:
    """Its name, and what loading it took or why it was not loaded."""
    loaded = f"{info.milliseconds:.1f} ms" if info.state == "loaded" else "waits for its first use"
    return f"{info.name} ({info.problem or loaded})"


def _trust(built: Assembled) -> str:
    trust = built.workspace.trust
    if trust.source == "nothing to trust":
        return trust.source
    return f"{'trusted' if trust.trusted else 'not trusted'}: {trust.source}"
