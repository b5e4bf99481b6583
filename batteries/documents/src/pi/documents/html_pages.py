"""Reads HTML pages: encoding, depth, main part, and visible elements.

Runs in the child process of ``convert``.
"""

from __future__ import annotations

import re
from typing import Any

MAX_DEPTH = 2000
"""Maximum depth of nested elements; Chrome keeps 512. For most tags the parser searches all open
elements, so 100,000 would take minutes."""
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_NOT_NESTING = frozenset({
    # Without content.
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
    # Closed by the next one of their kind, and often only by that.
    "li", "p", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "option", "optgroup", "rp",
    "rt", "colgroup", "caption", "html", "head", "body", "a", "nobr", "h1", "h2", "h3", "h4", "h5",
    "h6",
    # Reopened by the parser, three times at most; old pages leave them open.
    "b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u",
})  # fmt: skip
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_AS_BROWSERS = {
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "ascii", "us-ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
}
"""Encodings that browsers decode as a superset, because pages use characters beyond them."""
MAIN = ("main", "[role=main]", "article", "#content", "#main")
LEAST_TEXT = 200
"""Minimum characters of a main part; a shorter one is not the content."""
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
"""Styles of invisible text. Text that users do not see may be written to attack models."""
_PERMALINKS = frozenset("¶#§🔗")


def depth_of(page: str) -> int:
    """Return about how many elements are open at once; stops counting above ``MAX_DEPTH``."""
    open_tags: dict[str, int] = {}
    depth = deepest = 0
    for tag in _TAG.finditer(page):
        name = tag[2].lower()
        if name in _NOT_NESTING:
            continue
        if not tag[1]:
            open_tags[name] = open_tags.get(name, 0) + 1
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                break
        elif open_tags.get(name):  # an end without a beginning closes nothing
            open_tags[name] -= 1
            depth -= 1
    return deepest


def decode_page(data: bytes, charset: str) -> str:
    """Decode a page by its byte order mark, else by ``charset``, else as the page states."""
    if data.startswith(b"\xef\xbb\xbf"):
        charset = "utf-8-sig"
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        charset = "utf-16"
    elif not charset and (declared := _CHARSET.search(data[:4096])):
        charset = declared[1].decode("ascii", "replace")
    charset = _AS_BROWSERS.get(charset.lower(), charset)
    try:
        return data.decode(charset, "replace") if charset else data.decode("utf-8")
    except LookupError:
        return data.decode("utf-8", "replace")
    except UnicodeDecodeError:  # as browsers decode a page that states no encoding
        return data.decode("cp1252", "replace")


def find_main_part(tree: Any) -> Any:
    """Return the element with the content of a page; its body if none is marked as such."""
    for selector in MAIN:
        elements = tree.css(selector)
        if len(elements) == 1 and len(elements[0].text(deep=True)) >= LEAST_TEXT:
            return elements[0]
    return tree.body or tree.root


def is_content(node: Any) -> bool:
    """Whether an element or a text is part of the result."""
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
