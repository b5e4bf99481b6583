from __future__ import annotations

from tests.modes.interactive.transcript.looks import look


def test_paths_are_written_as_short_as_they_can_be() -> None:
    made = look()
    paths = ("/home/ada/project/a/b.py", "/home/ada/other", "/etc/hosts", "a/b.py", "")

    assert [made.short_path(path) for path in paths] == [
        "a/b.py",
        "~/other",
        "/etc/hosts",
        "a/b.py",
        "",
    ]
