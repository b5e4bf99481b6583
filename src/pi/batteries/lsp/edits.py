"""Edits of a workspace: computed for all files first, then written through the file layers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from pi.batteries.lsp.protocol import BadLspMessage, apply_edits, path_of
from pi.extension import ExtensionContext, PiError, Record

ReadText = Callable[[Path], Awaitable[str | None]]


class FileStep(Record):
    """One step of a workspace edit."""

    kind: str
    """``write``, ``create``, ``rename`` or ``delete``."""
    path: Path
    text: str = ""
    target: Path | None = None
    edits: int = 0

    def describe(self, cwd: Path) -> str:
        """One line for the model."""
        name = _short(self.path, cwd)
        if self.kind == "write":
            return f"{name}: {self.edits} edit{'s' * (self.edits != 1)}"
        if self.target is not None:
            return f"{name} → {_short(self.target, cwd)}"
        return f"{name}: {self.kind}d"


async def plan_edit(edit: Mapping[str, Any], read: ReadText) -> list[FileStep]:
    """The steps of a workspace edit, with the new texts. Raises ``BadLspMessage``."""
    changes = edit.get("documentChanges")
    if changes is None:
        changes = [
            {"textDocument": {"uri": uri}, "edits": edits}
            for uri, edits in (edit.get("changes") or {}).items()
        ]
    steps: list[FileStep] = []
    texts: dict[Path, str] = {}
    for each in changes:
        if "kind" in each:
            steps.append(_resource_step(each, texts))
            continue
        path = _path(each["textDocument"]["uri"])
        before = texts.get(path)
        if before is None:
            before = await read(path)
        if before is None:
            raise BadLspMessage(f"Cannot read {path}, which the server wants to change.")
        texts[path] = apply_edits(before, each["edits"])
        step = FileStep(kind="write", path=path, text=texts[path], edits=len(each["edits"]))
        steps.append(step)
    return steps


def _resource_step(change: Mapping[str, Any], texts: dict[Path, str]) -> FileStep:
    match change["kind"]:
        case "rename":
            old, new = _path(change["oldUri"]), _path(change["newUri"])
            if old in texts:
                texts[new] = texts.pop(old)
            return FileStep(kind="rename", path=old, target=new)
        case "create":
            path = _path(change["uri"])
            texts[path] = ""
            return FileStep(kind="create", path=path)
        case "delete":
            return FileStep(kind="delete", path=_path(change["uri"]))
        case kind:
            raise BadLspMessage(f"The server wants an unknown change: {kind}.")


async def apply_steps(ctx: ExtensionContext, steps: list[FileStep]) -> None:
    """Apply all steps through the file layers."""
    for step in steps:
        match step.kind:
            case "write" | "create":
                await ctx.files.write_file(str(step.path), step.text.encode())
            case "delete":
                await ctx.files.remove(str(step.path), recursive=True)
            case "rename" if step.target is not None:
                await ctx.files.move(str(step.path), str(step.target))


def check_inside(steps: list[FileStep], roots: list[Path]) -> None:
    """Raise ``PiError`` if a step changes a file outside of these folders."""
    for step in steps:
        for path in filter(None, (step.path, step.target)):
            if not any(path.is_relative_to(root) for root in roots):
                raise PiError(
                    f"The server wants to change {path}, which is outside of the project."
                )


def _path(uri: str) -> Path:
    path = path_of(uri)
    if path is None:
        raise BadLspMessage(f"The server wants to change {uri}, which is not a file.")
    return path


def _short(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
