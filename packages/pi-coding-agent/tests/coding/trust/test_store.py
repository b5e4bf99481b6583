"""The file of decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.trust import BadTrustFile, TrustStore, nearest
from pi.testing import FakeClock


def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "agent" / "trust.json", clock=FakeClock())


def test_a_missing_file_holds_no_decision_and_is_not_created(tmp_path: Path) -> None:
    assert store(tmp_path).decisions() == {}
    assert list(tmp_path.iterdir()) == []


def test_decisions_are_written_as_the_original_writes_them(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    store(tmp_path).decide({site: True, other: False})
    store(tmp_path).decide({other: None, tmp_path: False})

    text = (tmp_path / "agent" / "trust.json").read_text()
    assert text == f'{{\n  "{site}": true,\n  "{tmp_path}": false\n}}\n'


@pytest.mark.behaviour("trust-uses-canonical-paths")
def test_a_directory_is_known_by_its_canonical_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store(tmp_path).decide({tmp_path / "link": True})

    decisions = store(tmp_path).decisions()
    assert decisions == {str(tmp_path / "real"): True}
    assert nearest(decisions, tmp_path / "link" / "deeper") is True


def test_the_nearest_decision_is_used(tmp_path: Path) -> None:
    decisions = {str(tmp_path): True, str(tmp_path / "a"): False}

    assert nearest(decisions, tmp_path / "a" / "b") is False
    assert nearest(decisions, tmp_path / "ab") is True
    assert nearest(decisions, tmp_path.parent) is None


@pytest.mark.parametrize("broken", ["{", "[]", '{"/x": "yes"}'])
def test_an_invalid_file_raises_with_a_hint(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "agent" / "trust.json"
    path.parent.mkdir()
    path.write_text(broken)
    with pytest.raises(BadTrustFile) as error:
        store(tmp_path).decisions()

    assert (str(path) in error.value.message, error.value.hint) == (
        True,
        "Repair it, or remove it to be asked again.",
    )
