from __future__ import annotations

from pathlib import Path

import pi.coding.tools
from pi.coding.tools.declarations import description
from pi.coding.tools.registry import built_in_tools
from tests.coding.tools.places import make_place


def test_every_built_in_tool_has_a_description_beside_it(tmp_path: Path) -> None:
    folder = Path(pi.coding.tools.__file__).parent
    names = {path.stem for path in folder.glob("*.md")}

    assert names == set(built_in_tools(make_place(tmp_path)))
    assert all(description(name) for name in names)
