"""First start and updates: setup dialogs, changelog notice, billing warning."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pi.base.errors import PiError
from pi.base.files import read_if_exists
from pi.modes.interactive.changelog import changelog, changes_since
from pi.modes.interactive.ui import Ui

log = logging.getLogger(__name__)


NOT_NEW = ("settings.json", "config.yml", "oauth.json")
"""Files of the agent directory with which the home of a user is not new."""
NO_LOGIN = b"{}"
"""``auth.json`` as the original writes it at its first start, without a login."""


def is_new_home(agent_dir: Path, session_dir: Path | None = None) -> bool:
    """Whether neither pi nor the original has left settings, logins or sessions.

    A home that cannot be written counts as used: it would be asked at every start.
    """
    if any((agent_dir / name).exists() for name in NOT_NEW):
        return False
    logins = read_if_exists(agent_dir / "auth.json")
    if logins is not None and logins.split() not in ([], [NO_LOGIN]):
        return False
    folders = [agent_dir / "sessions", *([session_dir] if session_dir is not None else [])]
    if any(agent_dir.glob("*.jsonl")) or any(any(path.glob("**/*.jsonl")) for path in folders):
        return False
    existing = next(path for path in (agent_dir, *agent_dir.parents) if path.exists())
    return os.access(existing, os.W_OK)


async def welcome(
    ui: Ui,
    version: str,
    *,
    is_new: bool = False,
    shows_setup: bool = False,
    has_extensions: bool = True,
) -> None:
    """Run the setup of a new home, or of ``pi setup``; show others what is new.

    Each version does this once, whatever the user answered. Without extensions there are neither
    approvals nor batteries to choose: a new home stays new, and the next start asks.
    """
    settings = ui.port.settings
    seen = settings.values.last_changelog_version
    is_postponed = is_new and not has_extensions
    if (is_new or shows_setup) and not is_postponed:
        # Deferred: dialogs of a first start.
        from pi.modes.interactive.dialogs.setup import set_up

        await set_up(ui, is_new=is_new)
    if (seen is None or shows_setup) and ui.port.models.current is None:
        from pi.modes.interactive.dialogs.first_run import choose_start

        await choose_start(ui)
    if seen == version or is_postponed:
        return
    if seen is not None:
        _notify_changes(ui, seen, version)
    try:
        settings.set({"lastChangelogVersion": version})
    except PiError as error:
        log.info("the version that was seen is not remembered: %s", error)


def _notify_changes(ui: Ui, seen: str, version: str) -> None:
    from pi.tui.widgets.markdown.widget import Markdown

    changes = changes_since(changelog(ui.host.docs) or "", seen)
    if not changes:
        return
    if ui.port.settings.values.collapse_changelog:
        ui.notify(f"Updated to {version}; /changelog shows what is new.")
    else:
        ui.add_output(Markdown(changes, theme=ui.theme.markdown))


# Billing warning ----------------------------------------------------------------------------------


PROVIDER = "anthropic"
WARNING = (
    "You are logged in with a plan. Anthropic may bill what pi uses as extra usage, beyond the"
    " plan. Set warnings.anthropicExtraUsage to false to hide this warning."
)


async def warn_about_extra_billing(ui: Ui) -> None:
    """Warn users of an Anthropic plan, if it is used for the model and the setting is on."""
    model, is_enabled = (
        ui.port.models.current,
        ui.port.settings.values.warnings.anthropic_extra_usage,
    )
    if model is None or model.provider != PROVIDER or not is_enabled:
        return
    accounts = await ui.port.accounts.all()
    if any(account.provider.id == PROVIDER and account.logged_in for account in accounts):
        ui.notify(WARNING, "warning")
