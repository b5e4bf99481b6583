from __future__ import annotations

import pytest

from pi.batteries.status_engine.items import StatusEngineState


@pytest.mark.parametrize(
    ("cwd", "name"), [("/home/ada/project", "project"), ("/", "/"), ("", ""), ("/a/b c/", "b c")]
)
def test_the_workspace_name_is_the_name_of_its_folder(cwd: str, name: str) -> None:
    assert StatusEngineState(cwd=cwd).workspace_name == name
