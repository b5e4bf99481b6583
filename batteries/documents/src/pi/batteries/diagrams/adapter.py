"""Connects diagrams to a session. The manifest declares the same view, so this is rarely loaded."""

from __future__ import annotations

from pi.extension import ExtensionAPI


def extension(pi: ExtensionAPI) -> None:
    """Register the view of mermaid code."""
    pi.add_view("code", "mermaid", "pi.batteries.diagrams.views:mermaid")
