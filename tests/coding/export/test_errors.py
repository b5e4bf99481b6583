from __future__ import annotations

from pi.base.errors import PiError
from pi.coding.export.errors import ExportFailed, ShareFailed


def test_who_catches_failed_exports_catches_failed_shares() -> None:
    assert issubclass(ShareFailed, ExportFailed)
    assert issubclass(ExportFailed, PiError)
