"""Print and JSON mode: sends prompts and prints the last answer or all events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from pi.agent.events import TurnEnd
from pi.agent.policy import Next
from pi.ai.messages import AssistantMessage, Image, RequestFailure
from pi.base.json_lines import encode_line
from pi.base.records import UNSET, Record
from pi.base.terminal_text import sanitise
from pi.coding.extension_host.errors import ExtensionFailed
from pi.coding.port.ui import ExtensionUI
from pi.modes.phases import phase
from pi.modes.stdio import Output

if TYPE_CHECKING:
    from pi.coding.port.session import SessionPort
    from pi.modes.answer_schema import AnswerSchema


LIMIT_REACHED = 4
"""The exit code of a run that a limit ended."""
LIMITS = ("rate_limit", "quota", "billing")


# Result of a run ----------------------------------------------------------------------------------


class RunResult:
    """Records the last answer of a session.

    It is not read from the context: an answer that was cut off may be removed from it, but is still
    the result.
    """

    def __init__(self) -> None:
        self.answer: AssistantMessage | None = None

    def handle_event(self, event: object) -> None:
        """Handle one event."""
        if isinstance(event, TurnEnd):
            self.answer = event.message

    @property
    def failure(self) -> str | None:
        """The error of the last answer; ``None`` if it did not fail."""
        answer = self.answer
        if answer is None or answer.stop_reason not in ("error", "aborted"):
            return None
        return answer.error_message or f"Request {answer.stop_reason}"

    def explained(self, reason: str | None) -> str:
        """The error of the last answer in one sentence, and what to do in another line.

        ``reason`` of a policy that ended the run replaces the latter: it knows what was tried.
        """
        text = self.failure or ""
        match self.answer:
            case AssistantMessage(failure=RequestFailure(text=text, next=hint)):
                pass
            case _:
                from pi.ai.failures.sentence import describe_message  # deferred: rare

                text, hint = describe_message(text)
        hint = reason or hint
        return f"{text}\n{hint}" if hint and hint != text else text

    def stopped(self, decision: Next | None) -> str | None:
        """Why a policy ended the run before its final answer; ``None`` if none did.

        No message has the reason: after a stop between tool calls, the last answer looks complete.
        """
        if decision is None or decision.action != "stop" or not decision.reason:
            return None
        unfinished = self.answer is None or self.answer.stop_reason in ("toolUse", "error")
        return decision.reason if unfinished or decision.exit_code else None

    def exit_code(self, decision: Next | None) -> int:
        """0 if the last answer did not fail, 4 for a limit.

        A policy that stopped the run can set another code.
        """
        if decision is not None and decision.exit_code is not None:
            return decision.exit_code
        if self.failure is None:
            return 0
        failure = UNSET if self.answer is None else self.answer.failure
        is_limit = isinstance(failure, RequestFailure) and failure.kind in LIMITS
        return LIMIT_REACHED if is_limit else 1


# Events as lines of JSON --------------------------------------------------------------------------


_encode = msgspec.json.Encoder().encode


def event_line(event: Any, since_session_ms: int) -> bytes:
    """Return the line of one event, with the time since its session began."""
    try:
        text = _encode(event)
    except UnicodeEncodeError:  # a lone surrogate; the slower path replaces it
        text = encode_line(event).removesuffix(b"\n")
    return b'%b,"since_session_ms":%d}\n' % (text[:-1], since_session_ms)


# Prompts ------------------------------------------------------------------------------------------


class PromptInput(Record):
    """A prompt to send."""

    text: str
    images: tuple[Image, ...] = ()


async def send_prompts(port: SessionPort, prompts: Sequence[PromptInput]) -> Next | None:
    """Send all prompts in order; returns the result of the last run, if there was one.

    Stops after a command that requests the exit of the program.
    """
    decision: Next | None = None
    for number, prompt in enumerate(prompts):
        if port.extensions.exit_code is not None:
            break
        with phase("print:prompt:next" if number else "print:prompt:initial"):
            decision = await port.prompts.prompt(prompt.text, prompt.images)
    return decision


# JSON mode ----------------------------------------------------------------------------------------


async def run_json(
    port: SessionPort,
    prompts: Sequence[PromptInput],
    output: Output,
    report: Callable[[str], None],
    schema: AnswerSchema | None = None,
) -> int:
    """Write the session's header, send all prompts, write every event; returns the exit code.

    Errors of the model are in the events. The reason of a policy that ended the run is not, so it
    is passed to ``report``.
    """
    output.write_json(encode_line(port.entries.log.header))
    result = RunResult()

    def write_event(event: Any) -> Awaitable[None] | None:
        result.handle_event(event)
        output.write_json(event_line(event, port.since_session_ms()))
        return output.drained() if output.is_behind else None

    end = port.subscribe(write_event)
    try:
        decision = await send_prompts(port, prompts)
    finally:
        output.stop_waiting()
        end()
    if (reason := result.stopped(decision)) is not None:
        report(reason)
    if (requested := port.extensions.exit_code) is not None:
        return requested
    return result.exit_code(decision) or mismatch_code(schema, report)


def mismatch_code(schema: AnswerSchema | None, report: Callable[[str], None]) -> int:
    """Return the exit code of an answer without an error, and report why it does not match."""
    if schema is None or not schema.problem:
        return 0
    from pi.modes.answer_schema import MISMATCH  # deferred: few runs have a schema

    report(f"The answer does not match the schema of --json-schema. {schema.problem}")
    return MISMATCH


# Print mode ---------------------------------------------------------------------------------------


class PrintUI(ExtensionUI):
    """The user interface of extensions in print mode: only writes to standard output."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, text: str) -> None:
        """Write a text; a terminal gets no control sequences."""
        safe_text = sanitise(text) if self._output.is_terminal else text
        self._output.write(safe_text.encode("utf-8", "replace"))


def report_failures(report: Callable[[str], None]) -> Callable[[Any], None]:
    """Return a subscriber that reports failures of extensions, each once.

    Not those of commands: ``run_print`` reports them and fails.
    """
    reported = set[str]()

    def handle_event(event: ExtensionFailed) -> None:
        line = f"Extension error ({event.extension_path}): {event.error}"
        if event.event != "command" and line not in reported:
            reported.add(line)  # a handler may fail at every event
            report(line)

    return handle_event


INCOMPLETE = "Warning: the answer is incomplete: the model reached its output limit."


async def run_print(
    port: SessionPort,
    prompts: Sequence[PromptInput],
    output: Output,
    report: Callable[[str], None],
    schema: AnswerSchema | None = None,
) -> int:
    """Send all prompts in order and print the last answer; returns the exit code.

    An answer cut off by the output limit is printed too, with a warning.
    """
    result = RunResult()
    failed: list[str] = []

    def handle_event(event: Any) -> None:
        result.handle_event(event)
        if isinstance(event, ExtensionFailed) and event.event == "command":
            failed.append(event.error)
            report(f"Error: {event.explain()}")

    end = port.subscribe(handle_event, kinds=(TurnEnd, ExtensionFailed))
    try:
        decision = await send_prompts(port, prompts)
    finally:
        end()
    if (requested := port.extensions.exit_code) is not None:
        return requested
    code = result.exit_code(decision)
    if result.failure is not None:
        report(result.explained(result.stopped(decision)))
    elif (reason := result.stopped(decision)) is not None:
        report(reason)
        code = code or mismatch_code(schema, report)
    elif schema is not None:
        if (code := mismatch_code(schema, report)) == 0:
            output.write(f"{schema.output}\n".encode("utf-8", "replace"))
    elif result.answer is not None:
        _print_answer(result.answer, output, report)
    return code or int(bool(failed))


def _print_answer(answer: AssistantMessage, output: Output, report: Callable[[str], None]) -> None:
    if text := answer.text:
        # A file or a program gets every byte; a terminal would execute control sequences.
        safe_text = sanitise(text) if output.is_terminal else text
        output.write(f"{safe_text}\n".encode("utf-8", "replace"))
    if answer.stop_reason == "length":
        report(INCOMPLETE)
