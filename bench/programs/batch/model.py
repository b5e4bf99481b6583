"""A scripted model in an extension, as workers load it; and a home for the sessions."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi.extension import ExtensionAPI
from pi.testing import ScriptedProvider, says


def extension(pi: ExtensionAPI) -> None:
    """Answer every request with one word."""
    pi.register_provider(ScriptedProvider(lambda call: says("done")))


@contextmanager
def home() -> Iterator[Path]:
    """A folder that is the home of this process and its children."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        os.environ["PI_NO_LOCAL"] = "1"
        (Path(folder) / ".pi/agent").mkdir(parents=True)
        yield Path(folder)
