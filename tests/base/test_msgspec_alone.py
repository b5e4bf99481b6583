from __future__ import annotations

import subprocess
import sys


def test_msgspec_takes_nothing_from_typing_extensions_which_others_still_can() -> None:
    probe = """
import sys
import pi.base
assert "msgspec" in sys.modules and "typing_extensions" not in sys.modules
import msgspec, typing_extensions
class Row(typing_extensions.TypedDict):
    name: typing_extensions.Annotated[str, msgspec.Meta(min_length=1)]
    size: typing_extensions.NotRequired[int]
for text in (b'{"name": "a"}', b'{"name": "a", "size": "b"}', b'{"name": ""}', b"{}"):
    try:
        print(msgspec.json.decode(text, type=Row))
    except msgspec.ValidationError as problem:
        print(problem)
"""

    finished = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=False
    )

    assert (finished.stdout, finished.stderr) == (
        "{'name': 'a'}\n"
        "Expected `int`, got `str` - at `$.size`\n"
        "Expected `str` of length >= 1 - at `$.name`\n"
        "Object missing required field `name`\n",
        "",
    )


def test_while_others_may_look_for_it_typing_extensions_is_not_hidden() -> None:
    probe = """
import sys, threading
done = threading.Event()
threading.Thread(target=done.wait).start()
import pi.base
assert "msgspec" not in sys.modules
import pi.base.records
done.set()
assert "typing_extensions" in sys.modules
"""

    finished = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=False
    )

    assert (finished.returncode, finished.stderr) == (0, "")
