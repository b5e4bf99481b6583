from __future__ import annotations

import logging
import threading

import pytest

from pi.coding.extension_host.order import Owner
from pi.coding.extension_host.stalls import Stalls


def test_a_function_that_does_not_return_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    named = threading.Event()

    class Hear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            named.set()

    hear = Hear()
    logging.getLogger("pi.coding.extension_host.stalls").addHandler(hear)
    stalls = Stalls(0.01)
    stalls.watch()
    stalls.watch()
    stalls.current = (Owner(name="me", path="/me.py"), "input")
    assert named.wait(5)
    stalls.close()
    logging.getLogger("pi.coding.extension_host.stalls").removeHandler(hear)

    assert [record.getMessage() for record in caplog.records] == [
        "/me.py does not return from input: nothing else can happen"
    ]


def test_what_returns_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    stalls = Stalls()
    stalls.close()

    assert caplog.records == []
