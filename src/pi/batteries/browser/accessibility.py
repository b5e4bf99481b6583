"""The accessibility tree of a page as text, one line for each element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.extension import one_line

MAX_NAME = 300
"""Characters of a name or value."""
MAX_DEPTH = 20
"""Levels of indentation; deeper ones are shown at this one."""
_OPERATED = frozenset(
    {
        *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox"),
        *("menuitemradio", "option", "radio", "searchbox", "slider", "spinbutton", "switch"),
        *("tab", "textbox", "treeitem", "gridcell", "DisclosureTriangle", "Date", "ColorWell"),
    }
)
_WITHOUT_MEANING = frozenset({"generic", "none", "InlineTextBox", "LineBreak", "RootWebArea"})
_STATES = ("checked", "pressed", "selected", "expanded", "disabled", "required", "focused")

Node = Mapping[str, Any]


def tree_text(nodes: Sequence[Node], *, limit: int, with_refs: bool = True) -> str:
    """The lines of a tree, as many as fit ``limit`` characters."""
    by_id = {node["nodeId"]: node for node in nodes}
    stack = [(node, 0, "") for node in reversed(nodes) if node.get("parentId") not in by_id]
    seen: set[str] = set()
    lines: list[str] = []
    size = 0
    while stack:
        node, depth, around = stack.pop()
        if node["nodeId"] in seen:
            continue
        seen.add(node["nodeId"])
        line = _line(node, around, with_refs=with_refs)
        if line:
            row = f"{'  ' * min(depth, MAX_DEPTH)}- {line}"
            size += len(row) + 1
            if size > limit:
                lines.append("… the rest of the page is left out")
                break
            lines.append(row)
            depth, around = depth + 1, _text(node, "name")
        children = [by_id[id] for id in node.get("childIds", ()) if id in by_id]
        stack += [(child, depth, around) for child in reversed(children)]
    return "\n".join(lines)


def _line(node: Node, around: str, *, with_refs: bool) -> str:
    """One element; empty if it says nothing."""
    role = _text(node, "role")
    name = _text(node, "name")
    properties = {each["name"]: each.get("value", {}).get("value") for each in _properties(node)}
    operated = role in _OPERATED or bool(properties.get("focusable") and role != "RootWebArea")
    if node.get("ignored") or (role in _WITHOUT_MEANING and not (operated and role == "generic")):
        return ""
    if role == "StaticText":
        # The text of a link or heading is its name.
        return "" if not name or name in around else f"text {_quoted(name)}"
    words = [role, _quoted(name)] if name else [role]
    if with_refs and operated and "backendDOMNodeId" in node:
        words.append(f"[ref={node['backendDOMNodeId']}]")
    if properties.get("level"):
        words.append(f"level={properties['level']}")
    if value := _text(node, "value"):
        words.append(f"value={_quoted(value)}")
    words += [_state(key, properties[key]) for key in _STATES if _is_set(properties.get(key))]
    if role == "link" and (url := properties.get("url")):
        words.append(one_line(str(url))[:MAX_NAME])
    return " ".join(words)


def _is_set(value: Any) -> bool:
    return value not in (None, False, "false", "")


def _state(key: str, value: Any) -> str:
    return key if value in (True, "true") else f"{key}={one_line(str(value))}"


def _properties(node: Node) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = node.get("properties", ())
    return found


def _text(node: Node, key: str) -> str:
    value = node.get(key, {}).get("value", "")
    return one_line(str(value)).strip()


def _quoted(text: str) -> str:
    cut = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}…"
    return '"' + cut.replace('"', '\\"') + '"'
