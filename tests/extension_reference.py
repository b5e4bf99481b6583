"""docs/reference/extension-api.md, made from the code; run this module to write it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from pi.coding.extension_host.event_names import ALIASES, EVENTS
from pi.extension import CommandContext, ExtensionAPI, ExtensionContext, ExtensionUI

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
PARTS = """\
Parts: `pi.scope` (`spawn`, `every`, `on_close`, `clock`), `pi.events` (`on`, `emit`), `pi.settings`
(`declare`, `get`, `on_change`), `pi.auth` (`get`, `set`), `pi.models` (`resolve`, `available`,
`ask`, `complete`), `pi.http` (`request`), `pi.context`, `pi.log`, `pi.name`.
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
            PARTS,
            *_members("`ExtensionContext`", ExtensionContext, "ctx"),
            *_members("`CommandContext`: also", CommandContext, "ctx"),
            *_members("`ctx.ui`", ExtensionUI, "ui"),
        )
    )


def _events() -> Iterator[str]:
    for name, kind in EVENTS.items():
        answer = getattr(kind, "answer", None)
        told = f"`{answer.__name__}`" if isinstance(answer, type) else ""
        if name == "before_provider_request":
            told = "a payload"
        yield f"| `{name}` | `{kind.__name__}` | {told} | {_said(kind)} |"


def _members(title: str, owner: type, name: str) -> Iterator[str]:
    yield from (f"## {title}", "", "| | |", "|---|---|")
    for member, value in vars(owner).items():
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
