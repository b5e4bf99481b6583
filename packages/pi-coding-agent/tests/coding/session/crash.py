"""Kills a process that appends to a session, again and again: ``--kills 1000``.

After each kill the file must open, contain every reported entry, and accept more.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from pi.ai.messages import Text, UserMessage
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.opening import SessionLocation, open_session
from scripts.workspace import ROOT, import_path
from tests.coding.session.sessions import ids, user

KILLS_PER_FILE = 10
SIZES = (10, 300, 5_000, 70_000)
"""Characters of the messages: less than a page, and many pages."""


def append_for_ever(path: Path) -> None:
    """Append, and report every entry when it is stored."""
    conversation = SessionConversation(open_session(path, SessionLocation(None, "/", _fail)))
    number = 0
    while True:
        text = "x" * SIZES[number % len(SIZES)]
        conversation.append(UserMessage(content=(Text(text=text),)))
        sys.stdout.write(f"{conversation.log.leaf_id}\n")
        sys.stdout.flush()
        number += 1


def kill_once(path: Path, after: int) -> set[str]:
    """Let a process append, and kill it after ``after`` reports; returns all reported ids."""
    writer = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, "--append", str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": import_path(ROOT)},
    )
    assert writer.stdout is not None
    with writer:
        reported = [writer.stdout.readline() for _ in range(after)]
        writer.kill()
        reported += writer.stdout.readlines()
    return {line.decode().strip() for line in reported if line.endswith(b"\n")}


def check(path: Path, reported: set[str]) -> None:
    """Check that every reported entry is stored and that the session can be continued."""
    log = open_session(path, SessionLocation(None, "/", _fail))
    assert reported <= set(ids(log)), f"lost {reported - set(ids(log))}"
    new = log.append(user("still here"))
    log.close()
    again = open_session(path, SessionLocation(None, "/", _fail))
    again.close()
    assert ids(again) == ids(log)
    assert again.leaf_id == new.id


def crash(kills: int, seed: int, folder: Path) -> int:
    """Kill ``kills`` times; returns the number of reported entries."""
    chance = random.Random(seed)
    reported: set[str] = set()
    total = 0
    for number in range(kills):
        if number % KILLS_PER_FILE == 0:
            reported = set()
        path = folder / f"{number // KILLS_PER_FILE}.jsonl"
        new = kill_once(path, chance.randrange(30))
        total += len(new)
        reported |= new
        check(path, reported)
    return total


def _fail(line: str) -> None:
    raise AssertionError(line)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--append", type=Path)
    options = parser.parse_args()
    if options.append:
        append_for_ever(options.append)
    with tempfile.TemporaryDirectory() as folder:
        total = crash(options.kills, options.seed, Path(folder))
    sys.stdout.write(f"{options.kills} kills, {total} entries reported, none lost\n")


if __name__ == "__main__":
    main()
