"""What models read about each variant of the ``edit`` tool."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Variant: TypeAlias = Literal["replace", "patch", "apply_patch", "hashline"]

DESCRIPTIONS: Final[dict[str, str]] = {
    "patch": """\
Change files with a unified diff, as `diff -u` and `git diff` write it:
--- a/path
+++ b/path
@@ -12,3 +12,3 @@
 a line that stays
-a line that is removed
+a line that is added
Lines of a hunk begin with a space, - or +. Keep about three lines around each change; they must \
be those of the file. The numbers may be off, but hunks must be in order. /dev/null as the old or \
new file creates or deletes one. If one hunk does not fit, nothing is changed.""",
    "apply_patch": """\
Change files with a patch in this format:
*** Begin Patch
*** Update File: path
@@ class or function that contains the change (optional)
 a line that stays
-a line that is removed
+a line that is added
*** Add File: path
+each line of the new file
*** Delete File: path
*** End Patch
Keep about three lines around each change; they must be those of the file. Without line numbers, \
the lines must be unique: add more of them, or @@ lines. `*** Move to: path` below an update \
renames the file, and `*** End of File` below a change ties it to the end. If one change does not \
fit, nothing is changed.""",
    "hashline": """\
Change lines of a file by their anchors. `read` shows each line as `12:a3f|text`; `12:a3f` is its \
anchor: the number and a hash of the content. Each edit replaces the lines from `start` to `end`, \
or inserts before `start` or after `end`. All anchors are those of the file as you read it; do not \
count for earlier edits of the same call. Write plain lines in `text`, without anchors. If a line \
has changed, nothing is edited and the result shows the fresh lines.""",
}

SNIPPETS: Final[dict[str, str]] = {
    "patch": "Change files with a unified diff",
    "apply_patch": "Change, add, move and delete files with a patch",
    "hashline": "Change lines of a file by their anchors",
}
"""One line for the list of tools in the system prompt."""
_ONE_CALL = "Put all changes to one file into one edit call."
GUIDELINES: Final[dict[str, tuple[str, ...]]] = {
    "patch": ("Change existing files with edit; the context lines must be in the file.", _ONE_CALL),
    "apply_patch": (
        "Change existing files with edit; the context lines must be in the file.",
        _ONE_CALL,
    ),
    "hashline": (
        "Change existing files with edit; copy anchors such as 12:a3f from read, and read again"
        " when they are stale.",
        _ONE_CALL,
    ),
}
"""Lines for the guidelines of the system prompt."""
