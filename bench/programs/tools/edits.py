"""Edits a file of 10,000 lines in one variant of the tool; prints milliseconds of CPU per edit.

``splice`` is the floor: decode, replace a line, encode.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

from pi.batteries.edit_variants.hunks import FilePatch, locate_hunks
from pi.batteries.edit_variants.lines import HashEdit, line_hash, locate_hashes
from pi.batteries.edit_variants.patches import parse_codex, parse_unified
from pi.coding.files.text import TextForm
from pi.coding.tools.edit import Edit, Locate, Replacement, edit_bytes, locate_edits

LINES = [f"    value_{number} = compute(value_{number - 1}, {number})" for number in range(10_000)]
DATA = "".join(f"{line}\n" for line in LINES).encode()
AT = 7000
"""The line that is changed."""
ROUNDS = 20


def locate(variant: str) -> Locate:
    """The front end of a variant, with its arguments."""
    old, new = LINES[AT], "    changed = True"
    before = [f" {line}" for line in LINES[AT - 3 : AT]]
    after = [f" {line}" for line in LINES[AT + 1 : AT + 4]]
    hunk = [*before, f"-{old}", f"+{new}", *after]
    match variant:
        case "replace":
            edits = [Edit(old_text=old, new_text=new)]
            return lambda text, form: locate_edits(text, edits, "f")
        case "patch":
            head = ["--- a/f", "+++ b/f", f"@@ -{AT - 2},7 +{AT - 2},7 @@"]
            return partial(_hunks, "\n".join([*head, *hunk]), parse_unified)
        case "apply_patch":
            lines = ["*** Begin Patch", "*** Update File: f", "@@", *hunk, "*** End Patch"]
            return partial(_hunks, "\n".join(lines), parse_codex)
        case _:
            changes = [HashEdit(start=f"{AT + 1}:{line_hash(old)}", text=new)]
            return lambda text, form: locate_hashes(text, changes, "f")


def _hunks(
    patch: str, parse: Callable[[str], list[FilePatch]], text: str, form: TextForm
) -> list[Replacement]:
    (found,) = parse(patch)
    return locate_hunks(text, found.hunks, "f")


def splice() -> bytes:
    """The least that could do the same."""
    lines = DATA.decode().split("\n")
    lines[AT] = "    changed = True"
    return "\n".join(lines).encode()


def main() -> None:
    """Edit as often as it takes for a figure."""
    variant = sys.argv[1]
    front_end = None if variant == "splice" else locate(variant)
    began = time.process_time()
    for _ in range(ROUNDS):
        changed = splice() if front_end is None else edit_bytes(DATA, "f", front_end).data
    took = time.process_time() - began
    assert changed == splice()
    sys.stdout.write(f"{took / ROUNDS * 1e3:.3f}\n")


if __name__ == "__main__":
    main()
