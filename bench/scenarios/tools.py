"""What the tools that change files cost: edits in each variant, members of archives, rows."""

from __future__ import annotations

from bench.scenario import Command, Scenario, figure, python


def _edit(variant: str) -> Scenario:
    return Scenario(
        name=f"edit-{variant.replace('_', '')}",
        about=f"one edit of a file of 10,000 lines as {variant}, with its diff; the floor splices",
        measured=Command(words=python("tools.edits", variant)),
        floor=Command(words=python("tools.edits", "splice")),
        metrics=(figure(0, "cpu per edit", "ms"),),
    )


def _write(what: str, floor: str, about: str) -> Scenario:
    return Scenario(
        name=f"write-{what}",
        about=about,
        measured=Command(words=python("tools.rich_writes", what)),
        floor=Command(words=python("tools.rich_writes", floor)),
        metrics=(figure(0, "cpu per write", "ms"), figure(1, "peak memory", "MB")),
    )


SCENARIOS = (
    *map(_edit, ("replace", "patch", "apply_patch", "hashline")),
    _write("zip", "bare-zip", "a member of a zip file of 200; the floor appends one"),
    _write("tgz", "bare-zip", "a member of a growing tar.gz; the floor appends one to a zip file"),
    _write("rows", "bare-rows", "a row of 10,000, seen by the file layers; the floor updates it"),
)
