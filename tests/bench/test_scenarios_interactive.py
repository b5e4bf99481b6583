from __future__ import annotations

import pytest

from bench.mock_process import MockProcess
from bench.protocols.script import words
from bench.scenario import printed
from bench.scenarios.interactive import program
from bench.trial import observe
from tests.sampling import sampled

pytestmark = pytest.mark.full  # every scenario is a program with a server


@pytest.mark.parametrize("target", sampled(["{port}", "bare"], keep=1))
def test_the_first_key_is_seen_after_the_first_frame(server: MockProcess, target: str) -> None:
    seen = observe(program("starting", target).words, server)

    frame, key, cpu = (printed(seen, place) for place in range(3))
    assert 0 < frame < key
    assert cpu > 0


def test_a_plain_answer_is_reported_with_every_byte_that_was_written(server: MockProcess) -> None:
    prompt = "".join(words(500))
    written = len(f"\n{prompt}↓\n".replace("\n", "\r\n").encode())  # the key is echoed, too

    seen = observe(program("answering", "plain", "500").words, server)

    assert printed(seen) > 0
    assert printed(seen, 1) == round(written / 1e3, 2)
    assert printed(seen, 2) == round(written / len(prompt), 3)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["{port}", "bare"])
def test_typing_reports_a_positive_echo_time(server: MockProcess, target: str) -> None:
    assert printed(observe(program("typing", target).words, server)) > 0
