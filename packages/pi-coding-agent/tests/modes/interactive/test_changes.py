from __future__ import annotations

from pathlib import Path

from pi.modes.interactive.changelog import changelog, changes_since

TEXT = """\
# Changelog

Newest first.

## [0.10.0] - 2026-11-01

### Added

- Tabs.

## [0.9.1]

- A fix.

## [0.9.0]

- The rest.
"""


def test_only_newer_changes_are_returned_newest_first() -> None:
    assert changes_since(TEXT, "0.9.0") == (
        "## [0.10.0] - 2026-11-01\n\n### Added\n\n- Tabs.\n\n## [0.9.1]\n\n- A fix."
    )
    assert changes_since(TEXT, "0.10.0") == ""
    assert changes_since("", "0.1") == ""


def test_the_changelog_may_be_beside_the_documentation_or_above_it(tmp_path: Path) -> None:
    docs = tmp_path / "share" / "docs"
    docs.mkdir(parents=True)
    (tmp_path / "CHANGELOG.md").write_text("above")
    assert changelog(docs) == "above"
    (docs / "CHANGELOG.md").write_text("beside")
    assert changelog(docs) == "beside"
