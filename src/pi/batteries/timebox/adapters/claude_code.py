"""Timebox in Claude Code, as commands for its hooks.

``python -m pi.batteries.timebox.adapters.claude_code EVENT`` with ``session-start``,
``prompt-submit`` or ``stop`` reads the hook's JSON from standard input and answers on standard
output. What must outlive the process is a JSON file per session in ``timebox`` of Claude Code's
folder.
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

# What the timebox remembers of a session of Claude Code: its hooks are a process each.


Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Prompts so far, and records, oldest first."""

    turns: int = 0
    records: tuple[TimeboxRecord, ...] = ()

    @property
    def budget(self) -> TimeboxBudget | None:
        """The one that the newest record tells, as it was left."""
        match self.records[-1:]:
            case (Active(budget),):
                return budget
            case _:
                return None

    def with_budget(self, budget: TimeboxBudget | None) -> State:
        """The newest record brought up to date: a nudge changes a budget without a new record."""
        if budget is None or self.budget is None:
            return self
        return replace(self, records=(*self.records[:-1], Active(budget)))


def state_file(folder: Path, session_id: str) -> Path:
    """Where the state of a session is; no id leads out of ``folder``."""
    return folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', session_id)}.json"


def load_state(file: Path) -> State:
    """What was saved; a session that nothing is known of has no budget."""
    try:
        data = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError):
        return State()
    match data:
        case {"turns": int(turns), "records": list(kept)}:
            records = (record_from_json(each) for each in kept)
            return State(turns=turns, records=tuple(each for each in records if each is not None))
        case _:
            return State()


def save_state(file: Path, state: State) -> None:
    """Keep ``state``; whoever reads meanwhile sees the old one or the new one, and all of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    data = {"turns": state.turns, "records": [record_to_json(each) for each in state.records]}
    fresh = file.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_text(json.dumps(data), encoding="utf-8")
    fresh.replace(file)


def tokens_used(transcript: Path) -> int:
    """All tokens of a transcript; an answer of several lines is counted once."""
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
                    continue  # the last line may be half written
    except OSError:
        return  # there is none before the first answer


NO_COST = "Claude Code does not tell hooks what an answer costs. Use tokens:200k instead of cost:."

_COMMAND = re.compile(r"(/?)timebox(?:\s+(.*))?", re.IGNORECASE | re.DOTALL)


class Hook:
    """One call of a hook: what is known, and what comes of it."""

    def __init__(self, payload: Json, state: State, now_ms: int) -> None:
        self.state = state
        self.core = Timebox(state.budget)
        self.commands: list[str] = []
        """For the shell."""
        self._payload = payload
        self._now_ms = now_ms
        self._told: list[str] = []

    def session_start(self) -> Json:
        """Restore the budget and say so."""
        records, reading = self.state.records, self._reading()
        # The state is our own file: whatever it holds was typed here.
        self._note(self.core.session_started(records, reading, knows=lambda command: True))
        if self.core.budget is None and self.state.budget is not None:
            self._note([SaveRecord(Off(self._now_ms))])  # no later hook may find it again
        return self._message()

    def prompt_submit(self) -> Json:
        """Obey a command; nudge or block what is said otherwise."""
        prompt = str(self._payload.get("prompt", ""))
        if (arguments := command_in(prompt)) is not None:
            return self._command(arguments)
        reading = self._reading()
        self._note(self.core.turn_started(reading))
        if self.core.refusal is not None:
            return self._blocked()
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
        """Say what is left. Whoever keeps Claude at work is overruled when the budget is spent."""
        reading = self._reading()
        if self._payload.get("stop_hook_active") is True:
            self._note(self.core.request_due(reading, ("time", "tokens")))
            if self.core.refusal is not None:
                return {"continue": False, "stopReason": self.core.refusal}
        budget = self.core.budget
        if budget is not None and budget.active:
            self._told.append(status_line(budget, reading))
        return self._message()

    # ----------------------------------------------------------------------------------------------

    def _command(self, arguments: str) -> Json:
        wish = parse(arguments)
        limits = wish.limits if isinstance(wish, SetBudget) else None
        if limits and "cost" in limits:
            self._told.append(NO_COST)
        else:
            self._note(self.core.command(arguments, self._reading(limits)))
        return self._blocked()

    def _blocked(self) -> Json:
        """The prompt goes no further; the person is told why, and Claude nothing."""
        return {"decision": "block", "reason": "\n".join(self._told)}

    def _message(self) -> Json:
        return {"systemMessage": "\n".join(self._told)} if self._told else {}

    def _reading(self, wanted: Amounts | None = None) -> Reading:
        """The session now, as far as it matters for the budget and for what is ``wanted``."""
        budget = self.core.budget
        limits = {*(wanted or ()), *(() if budget is None else budget.limits)}
        transcript = Path(str(self._payload.get("transcript_path", "")))
        return {
            "time": self._now_ms,
            "turns": self.state.turns,
            # Transcripts are long: they are read only if it matters.
            "tokens": tokens_used(transcript) if "tokens" in limits else 0,
        }

    def _note(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Notify(text=text):
                    self._told.append(text)
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
    """What follows ``/timebox``, or ``timebox`` where that cannot be meant for Claude."""
    if (found := _COMMAND.fullmatch(prompt.strip())) is None:
        return None
    slash, arguments = found[1], found[2] or ""
    match parse(arguments):
        case SetBudget(ignored=()):
            return arguments
        case TurnOff() | ShowStatus() if len(arguments.split()) == 1:
            return arguments
        case _:
            return arguments if slash else None


def answer(event: str, text: str, folder: Path, now_ms: int) -> tuple[Json, list[str]]:
    """The hook's answer to its input, and what the shell is to run; the state is saved."""
    payload = json.loads(text)
    if not isinstance(payload, dict) or not isinstance(payload.get("session_id"), str):
        raise ValueError("there is no session_id")
    file = state_file(folder, payload["session_id"])
    hook = Hook(payload, before := load_state(file), now_ms)
    said = EVENTS[event](hook)
    after = hook.state.with_budget(hook.core.budget)
    if after != before:
        save_state(file, after)
    return said, hook.commands


def main(
    words: Sequence[str],
    *,
    given: TextIO,
    output: TextIO,
    errors: TextIO,
    folder: Path,
    now_ms: int,
    run: Callable[[str], None],
) -> int:
    """Answer one hook; the exit code. Claude Code goes on after a failure, and shows it."""
    if len(words) != 1 or words[0] not in EVENTS:
        errors.write(f"timebox: say one of {', '.join(EVENTS)}.\n")
        return 1
    try:
        said, commands = answer(words[0], given.read(), folder, now_ms)
    except (ValueError, OSError) as problem:
        errors.write(f"timebox: the {words[0]} hook came to nothing: {problem}\n")
        return 1
    output.write(json.dumps(said))
    for command in commands:
        run(command)
    return 0


def _folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "timebox"


def run_detached(command: str) -> None:
    """Give ``command`` to the shell, which outlives this process."""
    # Not at the top: every prompt of Claude Code starts a hook, and few hooks start a command.
    from pi.extension import PiError, start_detached

    try:
        start_detached(command, env=os.environ)
    except PiError as problem:
        sys.stderr.write(f"timebox: {problem.explain()}\n")


if __name__ == "__main__":
    sys.exit(
        main(
            sys.argv[1:],
            given=sys.stdin,
            output=sys.stdout,
            errors=sys.stderr,
            folder=_folder(),
            now_ms=time.time_ns() // 1_000_000,
            run=run_detached,
        )
    )
