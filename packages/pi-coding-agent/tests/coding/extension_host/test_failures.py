from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from pi.coding.extension_host.containment import (
    HandlerCancelled,
    HandlerEscaped,
    HandlerTimeout,
    contained,
)
from pi.coding.extension_host.errors import ExtensionError, ExtensionFailed, error_text


def raising(error: BaseException) -> Callable[[], Any]:
    def sync() -> None:
        raise error

    return sync


def raising_later(error: BaseException) -> Callable[[], Any]:
    async def later() -> None:
        await asyncio.sleep(0)
        raise error

    return later


async def awaiting_a_cancelled_task() -> None:
    task = asyncio.ensure_future(asyncio.sleep(10))
    task.cancel()
    await task


class OwnKind(BaseException):
    """Like the exceptions with which libraries end a program; it cannot be printed."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (raising(ValueError("x")), ValueError),
        (raising(OwnKind()), HandlerEscaped),
        (raising_later(OwnKind()), HandlerEscaped),
        (raising(SystemExit(3)), HandlerEscaped),
        (raising(BaseExceptionGroup("several", [KeyboardInterrupt()])), HandlerEscaped),
        (raising(asyncio.CancelledError()), HandlerCancelled),
        (raising_later(BaseExceptionGroup("several", [SystemExit()])), HandlerEscaped),
        (raising_later(asyncio.CancelledError()), HandlerCancelled),
        (awaiting_a_cancelled_task, HandlerCancelled),
    ],
)
async def test_any_exception_of_a_handler_is_raised_as_an_ordinary_exception(
    call: Callable[[], Any], expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        await contained(call)

    await asyncio.sleep(0)  # no cancellation is pending
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0


async def test_a_handler_may_use_timeouts_and_return_results() -> None:
    async def patient() -> Any:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.sleep(10)
        except TimeoutError:
            return "in time"
        return "too late"

    assert (await contained(patient), await contained(lambda: 7)) == ("in time", 7)


async def test_a_cancellation_from_outside_reaches_the_handler_and_its_caller() -> None:
    seen: list[str] = []
    waiting = asyncio.Event()

    async def handler() -> Any:
        try:
            waiting.set()
            await asyncio.sleep(10)
        finally:
            seen.append("cleaned up")

    task: asyncio.Task[Any] = asyncio.create_task(contained(handler))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert seen == ["cleaned up"]


async def test_closing_a_task_closes_the_handler() -> None:
    seen: list[str] = []

    async def handler() -> Any:
        try:
            await asyncio.sleep(10)
        except GeneratorExit:
            seen.append("closed")
            raise

    work: Coroutine[Any, Any, Any] = contained(handler)
    work.send(None)
    work.close()

    assert seen == ["closed"]


def test_a_failure_is_encoded_as_in_the_rpc_protocol() -> None:
    failed = ExtensionFailed(extension_path="/x.py", event="input", error="no")

    assert msgspec.json.encode(failed) == (
        b'{"type":"extension_error","extensionPath":"/x.py","event":"input","error":"no"}'
    )


def test_an_error_without_a_message_is_reported_by_its_type() -> None:
    assert [error_text(error) for error in (ValueError(), ValueError("x"), SystemExit(3))] == [
        "ValueError",
        "x",
        "3",
    ]
    assert error_text(ExtensionError("a", hint="b")) == "a"
    assert error_text(OwnKind()) == "OwnKind"
    assert error_text(HandlerTimeout(30)) == "It took longer than 30 seconds and was cancelled."
