"""How what an extension says is drawn."""

from __future__ import annotations

from collections.abc import Callable

from pi.coding.extension_host.members.api_members import ApiMembers
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.views import View, ViewKind


class DrawingMembers(ApiMembers):
    """Registers views."""

    def add_view(self, kind: ViewKind, name: str, view: View) -> Registration:
        """Draw a tool, message, entry or status of that name; a string is imported when needed."""
        return self._instance.add_name(self._registries.views, f"{kind}:{name}", view)

    def register_message_renderer(self, custom_type: str, view: View) -> Registration:
        """Draw messages of an extension."""
        return self.add_view("message", custom_type, view)

    def register_entry_renderer(self, custom_type: str, view: View) -> Registration:
        """Draw entries of an extension."""
        return self.add_view("entry", custom_type, view)

    def register_markdown_transformer(self, transform: Callable[..., str]) -> Registration:
        """Change Markdown before it is drawn."""
        return self._instance.add_row(self._registries.markdown, transform)
