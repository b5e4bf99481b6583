from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.errors import PiError
from pi.coding.blobs.artifacts import AgentOutputs, TextFolder


def test_a_repeated_output_name_gets_a_number() -> None:
    outputs = AgentOutputs(TextFolder(None))

    names = [outputs.allocate(name) for name in ("Anna", "Anna", "Bob", "anna", "Anna-2")]

    assert names == ["Anna", "Anna-2", "Bob", "anna-3", "Anna-2-2"]


def test_outputs_of_a_nested_agent_are_prefixed_with_its_parent() -> None:
    outputs = AgentOutputs(TextFolder(None))

    assert outputs.allocate("Child", parent="Anna") == "Anna.Child"
    assert outputs.allocate("Child", parent="Anna") == "Anna.Child-2"


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_saved_output_is_read_by_its_id(tmp_path: Path, in_memory: bool) -> None:
    outputs = AgentOutputs(TextFolder(None if in_memory else tmp_path / "s"))
    id = outputs.allocate("Anna")
    assert outputs.read(id) is None

    outputs.save(id, "# found")

    assert (outputs.read(id), outputs.list()) == ("# found", ["Anna"])
    assert outputs.read("../s/Anna") is None


def test_a_resumed_session_does_not_reuse_an_output_name(tmp_path: Path) -> None:
    AgentOutputs(TextFolder(tmp_path / "s")).save("Anna", "text")

    assert AgentOutputs(TextFolder(tmp_path / "s")).allocate("Anna") == "Anna-2"


@given(st.lists(st.text(max_size=8), max_size=8))
def test_ids_differ_and_are_plain_file_names(names: list[str]) -> None:
    outputs = AgentOutputs(TextFolder(None))

    ids = [outputs.allocate(name) for name in names]

    assert len({id.casefold() for id in ids}) == len(ids)
    assert all(Path(id).name == id and not id.startswith(".") for id in ids)


@pytest.mark.parametrize("id", ["../Anna", "", "a/b", ".hidden"])
def test_saving_under_an_invalid_id_is_rejected(tmp_path: Path, id: str) -> None:
    with pytest.raises(PiError, match="is not the id of an output"):
        AgentOutputs(TextFolder(tmp_path / "s")).save(id, "text")

    assert list(tmp_path.iterdir()) == []
