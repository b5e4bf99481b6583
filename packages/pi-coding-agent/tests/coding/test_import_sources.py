from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.import_sources import HistoryFolders, find_import_sources, import_histories

SOURCE = """\
from pi.coding.import_sources import ImportReport

def import_made_up(folders, cwd):
    return ImportReport(agent="made-up", counts={"new": 2}, problems=(str(cwd),))
"""


def install_source(folder: Path) -> None:
    metadata = folder / "made_up-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[pi.histories]\nmade-up = made_up_histories:import_made_up\n"
    )
    (folder / "made_up_histories.py").write_text(SOURCE)


def test_an_installed_package_adds_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_source(tmp_path / "installed")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    folders = HistoryFolders(home=tmp_path, agent_dir=tmp_path / "agent", environ={})

    report = import_histories("made-up", folders, cwd=tmp_path)

    assert report.describe() == (
        f"Imported from made-up: 2 new, 0 updated, 0 unchanged.\n{tmp_path}"
    )
    with pytest.raises(PiError, match="Unknown agent 'aider'") as error:
        import_histories("aider", folders, cwd=tmp_path)
    assert "made-up" in error.value.hint


def test_the_folder_of_the_project_adds_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_source(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as `python -m pi` does

    assert "made-up" not in find_import_sources()
