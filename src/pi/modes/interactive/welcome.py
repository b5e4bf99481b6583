"""What somebody meets who starts pi: questions the first time, what is new after an update."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from pi.base.errors import PiError
from pi.base.files import read_if_exists
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
    from pi.tui.widgets.markdown.widget import Markdown

    changes = changes_since(changelog(ui.host.docs) or "", seen)
    if not changes:
        return
    if ui.port.settings.values.collapse_changelog:
        ui.notify(f"Updated to {version}; /changelog tells what is new.")
    else:
        ui.say(Markdown(changes, theme=ui.theme.markdown))


# The changelog: where it is, and which of its sections are new to somebody.


NAME = "CHANGELOG.md"

_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_VERSION = re.compile(r"## \[?(\d+(?:\.\d+)*)")


def changelog(docs: Path) -> str | None:
    """The changelog beside the documentation, or at the root of a checkout."""
    for folder in (docs, *docs.parents[:3]):
        if (content := read_if_exists(folder / NAME)) is not None:
            return content.decode("utf-8", "replace")
    return None


def changes_since(text: str, version: str) -> str:
    """The sections of versions above ``version``, newest first; empty if there are none."""
    parts = [part.strip() for part in _SECTION.split(text)]
    return "\n\n".join(
        part
        for part in parts
        if (found := _VERSION.match(part)) and _numbers(found[1]) > _numbers(version)
    )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


# A word to who uses a plan of Anthropic: it may bill what other programs use apart from it.


PROVIDER = "anthropic"
WARNING = (
    "You are logged in with a plan. Anthropic may bill what pi uses as extra usage, beyond the"
    " plan. Set warnings.anthropicExtraUsage to false to be told no more."
)


async def warn_about_extra_billing(ui: Ui) -> None:
    """Tell it if the login is what the model is asked with, and the person wants to be told."""
    model, wanted = ui.port.models.current, ui.port.settings.values.warnings.anthropic_extra_usage
    if model is None or model.provider != PROVIDER or not wanted:
        return
    accounts = await ui.port.accounts.all()
    if any(each.provider.id == PROVIDER and each.logged_in for each in accounts):
        ui.notify(WARNING, "warning")
