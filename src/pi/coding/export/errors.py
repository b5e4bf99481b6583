"""Why a session did not leave the house.

ExportFailed            there is nothing to export, or nowhere to put it
└── ShareFailed         the page was made, but nobody would take it
"""

from __future__ import annotations

from pi.base.errors import PiError


class ExportFailed(PiError):
    """A session could not be exported."""


class ShareFailed(ExportFailed):
    """A session could not be shared."""
