"""Timebox in Claude Code, as commands for its hooks.

``python -m pi.batteries.timebox.adapters.claude_code EVENT`` with ``session-start``,
``prompt-submit`` or ``stop`` reads the hook's JSON from standard input and answers on standard
output. Each hook is a process of its own, so the state is stored in a JSON file per session in
``timebox`` of Claude Code's directory.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from pi.batteries.timebox.core.budget import Amounts, Reading, TimeboxBudget, status_line
from pi.batteries.timebox.core.parse import SetBudget, ShowStatus, TurnOff, parse
from pi.batteries.timebox.core.persist import (
    Active,
    Effect,
    Notify,
    Off,
    RunOnStop,
    SaveRecord,
    TimeboxRecord,
    record_from_json,
    record_to_json,
)
from pi.batteries.timebox.core.timebox import Timebox

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Stored state of a session: prompts so far, and records, oldest first."""

    turns: int = 0
    records: tuple[TimeboxRecord, ...] = ()

    @property
    def budget(self) -> TimeboxBudget | None:
        """The budget of the newest record."""
        match self.records[-1:]:
            case (Active(budget),):
                return budget
            case _:
                return None

    def with_budget(self, budget: TimeboxBudget | None) -> State:
        """Return a state with an updated newest record: a nudge adds no record of its own."""
        if budget is None or self.budget is None:
            return self
        return replace(self, records=(*self.records[:-1], Active(budget)))


def state_file(folder: Path, session_id: str) -> Path:
    """Return the state file of a session; the id cannot escape from ``folder``."""
    return folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', session_id)}.json"


def load_state(file: Path) -> State:
    """Load the state; an unknown session has no budget."""
    try:
        data = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError):
        return State()
    match data:
        case {"turns": int(turns), "records": list(stored)}:
            records = (record_from_json(record) for record in stored)
            return State(
                turns=turns, records=tuple(record for record in records if record is not None)
            )
        case _:
            return State()


def save_state(file: Path, state: State) -> None:
    """Save the state atomically."""
    file.parent.mkdir(parents=True, exist_ok=True)
    data = {"turns": state.turns, "records": [record_to_json(record) for record in state.records]}
    fresh = file.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_text(json.dumps(data), encoding="utf-8")
    fresh.replace(file)


def tokens_used(transcript: Path) -> int:
    """Return all tokens of a transcript; an answer that spans several lines counts once."""
    answers: dict[object, int] = {}
    for number, line in enumerate(_lines(transcript)):
        match line:
            case {"type": "assistant", "message": {"usage": dict(usage), **message}}:
                counts = [v for k, v in usage.items() if k in _COUNTED and isinstance(v, int)]
                answers[message.get("id", number)] = sum(counts)
            case _:
                pass
    return sum(answers.values())


_COUNTED = frozenset(
    {
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    }
)


def _lines(transcript: Path) -> Iterator[object]:
    try:
        with transcript.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue  # the last line may be incomplete
    except OSError:
        return  # missing before the first answer


NOT_REPORTED = "Claude Code does not report costs and requests to hooks. Use tokens:200k instead."

_COMMAND = re.compile(r"(/?)timebox(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


class Hook:
    """One call of a hook: its input, and the answer to it."""

    def __init__(self, payload: Json, state: State, now_ms: int) -> None:
        self.state = state
        self.core = Timebox(state.budget)
        self.commands: list[str] = []
        """Shell commands to run."""
        self._payload = payload
        self._now_ms = now_ms
        self._messages: list[str] = []

    def session_start(self) -> Json:
        """Restore the budget and report it."""
        records, reading = self.state.records, self._reading()
        # The state file is not shared: every command in it was typed on this machine.
        self._note(self.core.session_started(records, reading, knows=lambda command: True))
        if self.core.budget is None and self.state.budget is not None:
            self._note([SaveRecord(Off(self._now_ms))])  # no later hook may restore it
        return self._message()

    def prompt_submit(self) -> Json:
        """Run a ``/timebox`` command; add a warning to any other prompt, or block it."""
        prompt = str(self._payload.get("prompt", ""))
        if (arguments := command_in(prompt)) is not None:
            return self._command(arguments)
        reading = self._reading()
        self._note(self.core.turn_started(reading))
        if self.core.refusal is not None:
            return self._block_prompt()
        if self.core.budget is not None:
            self.state = replace(self.state, turns=self.state.turns + 1)
        answer = self._message()
        if (warning := self.core.warning(reading)) is not None:
            answer["hookSpecificOutput"] = {
                "hookEventName": "UserPromptSubmit",
                "additionalContext": warning,
            }
        return answer

    def stop(self) -> Json:
        """Show what is left.

        Overrules other hooks that keep Claude running once the budget is spent.
        """
        reading = self._reading()
        if self._payload.get("stop_hook_active") is True:
            self._note(self.core.request_due(reading, ("time", "tokens")))
            if self.core.refusal is not None:
                return {"continue": False, "stopReason": self.core.refusal}
        budget = self.core.budget
        if budget is not None and budget.active:
            self._messages.append(status_line(budget, reading))
        return self._message()

    def _command(self, arguments: str) -> Json:
        parsed = parse(arguments)
        limits = parsed.limits if isinstance(parsed, SetBudget) else None
        if limits and not limits.keys().isdisjoint(("cost", "requests")):
            self._messages.append(NOT_REPORTED)
        else:
            self._note(self.core.command(arguments, self._reading(limits)))
        return self._block_prompt()

    def _block_prompt(self) -> Json:
        """Block the prompt and show the reason to the user; Claude does not see it."""
        return {"decision": "block", "reason": "\n".join(self._messages)}

    def _message(self) -> Json:
        return {"systemMessage": "\n".join(self._messages)} if self._messages else {}

    def _reading(self, requested: Amounts | None = None) -> Reading:
        """Return the current totals of the dimensions that the budget or ``requested`` uses."""
        budget = self.core.budget
        limits = {*(requested or ()), *(() if budget is None else budget.limits)}
        transcript = Path(str(self._payload.get("transcript_path", "")))
        return {
            "time": self._now_ms,
            "turns": self.state.turns,
            # Transcripts are long: read only if tokens are limited.
            "tokens": tokens_used(transcript) if "tokens" in limits else 0,
        }

    def _note(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Notify(text=text):
                    self._messages.append(text)
                case SaveRecord(record):
                    self.state = replace(self.state, records=(*self.state.records, record))
                case RunOnStop(command):
                    self.commands.append(command)


EVENTS: dict[str, Callable[[Hook], Json]] = {
    "session-start": Hook.session_start,
    "prompt-submit": Hook.prompt_submit,
    "stop": Hook.stop,
}


def command_in(prompt: str) -> str | None:
    """Return the arguments of ``/timebox``, or of ``timebox`` if it cannot be meant for Claude."""
    if (match := _COMMAND.fullmatch(prompt.strip())) is None:
        return None
    slash, arguments = match[1], match[2] or ""
    match parse(arguments):
        case SetBudget(ignored=()):
            return arguments
        case TurnOff() | ShowStatus() if len(arguments.split()) == 1:
            return arguments
        case _:
            return arguments if slash else None


def answer(event: str, text: str, folder: Path, now_ms: int) -> tuple[Json, list[str]]:
    """Return the hook's answer and the shell commands to run; saves the state."""
    payload = json.loads(text)
    if not isinstance(payload, dict) or not isinstance(payload.get("session_id"), str):
        raise ValueError("session_id is missing")
    file = state_file(folder, payload["session_id"])
    hook = Hook(payload, before := load_state(file), now_ms)
    reply = EVENTS[event](hook)
    after = hook.state.with_budget(hook.core.budget)
    if after != before:
        save_state(file, after)
    return reply, hook.commands


def main(
    arguments: Sequence[str],
    *,
    stdin: TextIO,
    output: TextIO,
    errors: TextIO,
    folder: Path,
    now_ms: int,
    run: Callable[[str], None],
) -> int:
    """Answer one hook; returns the exit code. Claude Code shows a failure and continues."""
    if len(arguments) != 1 or arguments[0] not in EVENTS:
        errors.write(f"timebox: expected one of {', '.join(EVENTS)}.\n")
        return 1
    try:
        reply, commands = answer(arguments[0], stdin.read(), folder, now_ms)
    except (ValueError, OSError) as error:
        errors.write(f"timebox: the {arguments[0]} hook failed: {error}\n")
        return 1
    output.write(json.dumps(reply))
    for command in commands:
        run(command)
    return 0


def _folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "timebox"


def run_detached(command: str) -> None:
    """Run ``command`` in a shell that outlives this process."""
    # Deferred: every prompt of Claude Code starts a hook, and few hooks start a command.
    from pi.extension import PiError, start_detached

    try:
        start_detached(command, env=os.environ)
    except PiError as error:
        sys.stderr.write(f"timebox: {error.explain()}\n")


if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1:],
            stdin=sys.stdin,
            output=sys.stdout,
            errors=sys.stderr,
            folder=_folder(),
            now_ms=time.time_ns() // 1_000_000,
            run=run_detached,
        )
    )
