from __future__ import annotations

from pathlib import Path

import pi.coding.tools
from pi.coding.tools.declarations import description


def test_every_description_is_a_text_beside_its_tool() -> None:
    folder = Path(pi.coding.tools.__file__).parent
    names = [path.stem for path in folder.glob("*.md")]

    assert all((folder / f"{name}.py").is_file() for name in names)
    assert all(description(name) for name in names)
