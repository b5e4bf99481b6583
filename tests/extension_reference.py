"""docs/reference/extension-api.md, made from the code; run this module to write it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from pi import extension
from pi.coding.extension_host.api.auth import ExtensionAuth
from pi.coding.extension_host.api.consent import ExtensionConsent
from pi.coding.extension_host.api.images import ExtensionImages
from pi.coding.extension_host.api.loaded_extension import ScopedEvents
from pi.coding.extension_host.api.readers import ExtensionModelRegistry, SessionReader
from pi.coding.extension_host.api.resources import ExtensionResources
from pi.coding.extension_host.api.services import (
    ExtensionHttp,
    ExtensionModels,
    ExtensionSettings,
)
from pi.coding.extension_host.api.storage import ExtensionArtifacts
from pi.coding.extension_host.events.handlers import ALIASES, EVENTS
from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    ExtensionUI,
    PendingActions,
    Scope,
)

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "extension-api.md"

HEAD = """\
# The extension API

Made from the code by `python -m tests.extension_reference`. How to begin:
[write an extension](../how-to/write-an-extension.md).

## Events

`pi.on(name, handler)` or `@pi.on(name)`; the handler gets `(event, ctx)` and may be async. An
answer is a record or a dict of its fields; `None` is no opinion.

| event | record | answer | |
|---|---|---|---|
"""
PARTS: dict[str, type] = {
    "pi.scope": Scope,
    "pi.events": ScopedEvents,
    "pi.settings": ExtensionSettings,
    "pi.auth": ExtensionAuth,
    "pi.models": ExtensionModels,
    "pi.http": ExtensionHttp,
    "pi.images": ExtensionImages,
    "pi.pending_actions": PendingActions,
    "ctx.consent": ExtensionConsent,
    "ctx.resources": ExtensionResources,
    "ctx.session_manager": SessionReader,
    "ctx.model_registry": ExtensionModelRegistry,
    "ctx.artifacts": ExtensionArtifacts,
}
"""What else an extension is given, by where it is found."""
REST = """\
Also `pi.context` (the context that handlers get), `pi.log` (a logger), `pi.name` and `pi.version`
(that of pi).
"""


def page() -> str:
    """The whole text."""
    return "\n".join(
        (
            HEAD + "\n".join(_events()),
            "",
            *(f"`{alias}` is another name of `{name}`." for alias, name in ALIASES.items()),
            "",
            *_members("`ExtensionAPI`", ExtensionAPI, "pi"),
            REST,
            *_members("`ExtensionContext`", ExtensionContext, "ctx"),
            *_members("`CommandContext`: also", CommandContext, "ctx", beside=ExtensionContext),
            *(line for name, part in PARTS.items() for line in _members(f"`{name}`", part, name)),
            *_members("`ctx.ui`", ExtensionUI, "ui"),
        )
    )


def _events() -> Iterator[str]:
    public = {
        getattr(extension, name): name for name in extension.__all__ if name.endswith("Event")
    }
    for name, kind in EVENTS.items():
        answer = getattr(kind, "answer", None)
        returned = f"`{answer.__name__}`" if isinstance(answer, type) else ""
        if name == "before_provider_request":
            returned = "a payload"
        yield f"| `{name}` | `{public[kind]}` | {returned} | {_said(kind)} |"


def _members(title: str, owner: type, name: str, beside: type = object) -> Iterator[str]:
    """What ``owner`` has and ``beside`` has not."""
    yield from (f"## {title}", "", "| | |", "|---|---|")
    kinds = [kind for kind in owner.__mro__ if not issubclass(beside, kind)]
    for member, value in (each for kind in kinds for each in vars(kind).items()):
        if member.startswith("_"):
            continue
        if isinstance(value, property):
            yield f"| `{name}.{member}` | {_said(value)} |"
        elif callable(value):
            yield f"| `{name}.{member}()` | {_said(value)} |"
    yield ""


def _said(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
