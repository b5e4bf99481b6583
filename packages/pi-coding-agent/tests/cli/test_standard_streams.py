from __future__ import annotations

import subprocess
import sys

import pytest

from pi.cli.standard_streams import print_error
from tests.cli.forked import TIMEOUT_SECONDS


def run(script: str, piped: str = "") -> tuple[str, str]:
    finished = subprocess.run(
        [sys.executable, "-c", script],
        input=piped,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    return finished.stdout, finished.stderr


@pytest.mark.behaviour("stdout-is-protocol-only")
def test_output_of_libraries_and_children_goes_to_standard_error() -> None:
    script = (
        "import os, sys\n"
        "from pi.cli.standard_streams import protocol_output\n"
        "print('before')\n"
        "with protocol_output() as stdout:\n"
        "    print('from a library', flush=True)\n"
        "    os.system('echo from a child')\n"
        "    os.write(stdout, b'protocol\\n')\n"
        "print('after')\n"
    )

    assert run(script) == ("before\nprotocol\nafter\n", "from a library\nfrom a child\n")


def test_piped_input_is_read_to_its_end() -> None:
    script = (
        "import asyncio\n"
        "from pi.cli.standard_streams import piped_input\n"
        "print(repr(asyncio.run(piped_input())))\n"
    )

    assert run(script, "one\ntwo") == ("'one\\ntwo'\n", "")


def test_without_a_terminal_a_confirmation_is_false() -> None:
    script = "from pi.cli.standard_streams import confirm\nprint(confirm('Really? '))\n"

    assert run(script, "y\n") == ("False\n", "Really? \n")


def test_control_sequences_are_removed_from_printed_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_error("first\x1b[2J\nsecond\x07")

    assert capsys.readouterr().err == "first\nsecond\n"


STREAMS = (
    "import sys\n"
    "from pi.base.terminal_text import SanitisedStream\n"
    "from pi.cli.standard_streams import print_json, rewrite_line\n"
    "sys.stdout, sys.stderr = SanitisedStream(sys.stdout), SanitisedStream(sys.stderr)\n"
)


def test_programs_get_the_same_json_without_controls() -> None:
    out, _ = run(STREAMS + "print_json(['\\x9b'])")

    assert out == '["\\u009b"]\n'


def test_a_rewritten_line_replaces_the_previous_one() -> None:
    script = STREAMS + "rewrite_line('10 %')\nrewrite_line('20\\x1b[2J %')"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert finished.stderr == b"\r10 %\r20 %"
