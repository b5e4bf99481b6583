"""Which elements of a page a reader sees. Runs in the child process of ``convert``."""

from __future__ import annotations

import re
from typing import Any

SKIPPED = frozenset({
    "script", "style", "noscript", "noframes", "template", "svg", "canvas", "iframe", "object",
    "embed", "button", "select", "textarea", "nav", "footer", "aside", "dialog", "head", "link",
    "meta", "audio", "video", "map",
})  # fmt: skip
"""Elements without text for a reader. A form is not one: some servers put whole pages into it."""
SKIPPED_ROLES = frozenset({"navigation", "contentinfo", "search", "dialog", "alertdialog"})
SKIPPED_CLASSES = frozenset({
    "headerlink", "mw-editsection", "md-clipboard", "linenos", "lineno", "linenums", "line-numbers",
    "gutter",
})  # fmt: skip
"""Links of headings to themselves, and the numbers of lines."""
_INVISIBLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)
"""Styles of text that readers do not see. Hidden text is written for models, against the user."""
_PERMALINKS = frozenset("¶#§🔗")


def is_shown(node: Any) -> bool:
    """Whether an element, or a text, is written."""
    tag = node.tag
    if tag in ("-text", "#text"):
        return True
    if tag is None or tag.startswith(("-", "!", "#")) or tag in SKIPPED:
        return False
    attributes = node.attributes
    if not attributes:
        return True
    if not SKIPPED_CLASSES.isdisjoint((attributes.get("class") or "").split()):
        return False
    if tag == "a" and (attributes.get("href") or "").startswith("#"):
        return node.text(deep=True).strip() not in _PERMALINKS
    return _is_visible(attributes)


def _is_visible(attributes: Any) -> bool:
    role = attributes.get("role")
    if role == "tabpanel":  # only the chosen one is visible; a reader can choose the others
        return True
    hidden = "hidden" in attributes or attributes.get("aria-hidden") == "true"
    invisible = _INVISIBLE.search(attributes.get("style") or "") is not None
    return not hidden and not invisible and role not in SKIPPED_ROLES
