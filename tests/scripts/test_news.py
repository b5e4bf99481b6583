from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def news(root: Path, repository: Path) -> subprocess.CompletedProcess[str]:
    (repository / "scripts").mkdir(exist_ok=True)
    script = shutil.copy(root / "scripts/news", repository / "scripts/news")
    return subprocess.run(
        [sys.executable, script, "0.2.0", "2026-12-01"], capture_output=True, text=True, check=False
    )


def test_fragments_become_a_section_above_the_earlier_ones(root: Path, tmp_path: Path) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/README.md").write_text("how\n")
    (tmp_path / "changes/b.fixed.md").write_text("A bug\nis gone.\n")
    (tmp_path / "changes/a.added.md").write_text("A feature.\n")
    (tmp_path / "changes/c.changed.md").write_text("Other.\n")
    (tmp_path / "changes/d.breaking.md").write_text("No more.\n")
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\nIntro.\n\n## [0.1.0] - 2026-11-15\n\n- old\n"
    )

    finished = news(root, tmp_path)

    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "CHANGELOG.md").read_text() == (
        "# Changelog\n\nIntro.\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- A feature.\n\n"
        "### Changed\n\n- **Breaking:** No more.\n- Other.\n\n"
        "### Fixed\n\n- A bug is gone.\n\n## [0.1.0] - 2026-11-15\n\n- old\n"
    )
    assert [path.name for path in (tmp_path / "changes").iterdir()] == ["README.md"]


def test_a_fragment_of_an_unknown_kind_is_rejected_and_nothing_changes(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/x.improved.md").write_text("?\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n")

    finished = news(root, tmp_path)

    assert finished.returncode == 1
    assert finished.stderr.startswith("news: x.improved.md: the name must end with one of")
    assert (tmp_path / "CHANGELOG.md").read_text() == "# Changelog\n"


def test_the_fragments_of_this_repository_have_known_kinds(root: Path) -> None:
    kinds = {"breaking", "added", "changed", "fixed", "removed"}

    assert [
        path.name
        for path in (root / "changes").glob("*.md")
        if path.name != "README.md" and path.name.split(".")[-2] not in kinds
    ] == []
