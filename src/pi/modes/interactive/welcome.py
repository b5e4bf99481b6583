"""What somebody meets who starts pi: questions the first time, what is new after an update."""

from __future__ import annotations

import logging

from pi.base.errors import PiError
from pi.modes.interactive.ui import Ui

log = logging.getLogger(__name__)


async def welcome(ui: Ui, version: str) -> None:
    """Set things up for a newcomer without a model; tell others what has changed since they came.

    Whoever was welcomed by a version is not welcomed by it again, whatever they answered.
    """
    settings = ui.port.settings
    seen = settings.values.last_changelog_version
    if seen == version:
        return
    if seen is not None:
        _tell_changes(ui, seen, version)
    elif ui.port.models.current is None:
        from pi.modes.interactive.dialogs.first_run import set_up  # its dialogs are for newcomers

        await set_up(ui)
    try:
        settings.set({"lastChangelogVersion": version})
    except PiError as problem:
        log.info("the version that was seen is not remembered: %s", problem)


def _tell_changes(ui: Ui, seen: str, version: str) -> None:
    from pi.modes.interactive.changes import changelog, changes_since  # once per update
    from pi.tui.widgets.markdown.widget import Markdown

    changes = changes_since(changelog(ui.host.docs) or "", seen)
    if not changes:
        return
    if ui.port.settings.values.collapse_changelog:
        ui.notify(f"Updated to {version}; /changelog tells what is new.")
    else:
        ui.say(Markdown(changes, theme=ui.theme.markdown))
