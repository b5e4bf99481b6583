"""Matches the answers of a run with the rules, and interrupts those that break one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pi.batteries.stream_rules.decisions import Decisions, RuleMatch
from pi.batteries.stream_rules.matcher import GrowingText, MatchRequest, RuleMatcher, SlowMatcher
from pi.batteries.stream_rules.rules import Source, StreamRule
from pi.extension import (
    UNSET,
    AssistantMessage,
    Boundary,
    Delta,
    ExtensionContext,
    Interrupt,
    MessageToken,
    Next,
    Partial,
    Policy,
    Request,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    replace,
    syntax_language,
)

FIRST_PREVIEW = 256
"""Characters of arguments after which the text of a written file is first matched."""
PREVIEW_SHARE = 16
"""It is matched again when the arguments have grown by 1/16: every match parses all of them."""


class Block:
    """One block of the answer that is being streamed."""

    __slots__ = ("checked", "growing", "index", "is_file", "lane", "size", "tree")

    def __init__(self, index: int, lane: Lane, growing: GrowingText, *, is_file: bool) -> None:
        self.index = index
        self.lane = lane
        self.growing = growing
        self.is_file = is_file
        """Whether the arguments of the call contain the text of a file."""
        self.size = 0
        self.checked: str | None = None
        """The text whose slow patterns were matched in the child process."""
        self.tree: str | None = None
        """The source whose syntax tree was matched last."""


class Lane:
    """The rules of one part of answers: text, thinking, or the calls of one tool."""

    def __init__(self, source: Source, tool: str, rules: Iterable[StreamRule], re2: Any) -> None:
        self.source = source
        self.tool = tool
        if source == "tool":
            self.rules = tuple(rule for rule in rules if rule.scope.of_tool(tool))
        else:
            self.rules = tuple(rule for rule in rules if rule.in_prose(source))
        self.matcher = RuleMatcher(self.rules, re2)
        self.slow = tuple(
            rule
            for rule in self.rules
            if any(condition.fast is None for condition in rule.conditions)
        )
        self.trees = tuple(rule for rule in self.rules if rule.ast and source == "tool")


class StreamRulesPolicy(Policy):
    """Matches rules with answers while they stream, at the end of blocks, and when complete."""

    def __init__(
        self,
        rules: Sequence[StreamRule],
        *,
        re2: Any,
        ctx: ExtensionContext,
        slow: SlowMatcher,
        decisions: Decisions,
    ) -> None:
        self._rules = rules
        self._re2 = re2
        self._ctx = ctx
        self._slow = slow
        self._decisions = decisions
        self._lanes: dict[tuple[Source, str], Lane] = {}
        self._number = 0
        """Number of the answer: matches of an earlier one do not count."""
        self._reset()

    def _reset(self) -> None:
        """Forget the last answer."""
        self._number += 1
        self._blocks: dict[int, Block] = {}
        self._current: Block | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._late: list[tuple[Lane, list[StreamRule], ToolCall | None]] = []
        """Matches of the child process that arrived after the end of the answer."""
        self._decisions.begin_answer()

    # Streaming ------------------------------------------------------------------------------------

    async def before_request(self, request: Request) -> Request:
        """Begin a new answer."""
        self._reset()
        return request

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Match the answer every few characters. Raises ``Interrupt``."""
        block = self._current
        if block is None or block.index != delta.content_index:
            block = self._switch(delta, answer)
        growing = block.growing
        growing.parts.append(delta.delta)
        growing.room -= len(delta.delta)
        if growing.room <= 0:
            self._check(block, answer)

    def _switch(self, delta: Delta, answer: Partial) -> Block:
        """Return the block of a delta. The block before it counts as complete."""
        if (ended := self._current) is not None and ended.lane.slow:
            self._begin_slow(ended, answer)
        block = self._blocks.get(delta.content_index)
        if block is None:
            block = self._open_block(delta, answer)
            self._blocks[delta.content_index] = block
        self._current = block
        return block

    def _open_block(self, delta: Delta, answer: Partial) -> Block:
        is_file = False
        if isinstance(delta, TextDelta):
            lane = self._lane("text")
        elif isinstance(delta, ThinkingDelta):
            lane = self._lane("thinking")
        else:
            call = _call_at(answer(), delta.content_index)
            lane = self._lane("tool", "" if call is None else call.name)
            is_file = bool(lane.rules) and self._ctx.has_preview(lane.tool)
        growing = GrowingText(lane.matcher)
        if is_file:
            growing.room = FIRST_PREVIEW
        return Block(delta.content_index, lane, growing, is_file=is_file)

    def _lane(self, source: Source, tool: str = "") -> Lane:
        lane = self._lanes.get((source, tool))
        if lane is None:
            lane = self._lanes[source, tool] = Lane(source, tool, self._rules, self._re2)
        return lane

    def _check(self, block: Block, answer: Partial) -> None:
        if block.is_file:
            self._check_file(block, answer)
        elif rules := block.growing.check():
            call = _call_at(answer(), block.index) if block.lane.source == "tool" else None
            if cut := self._decide(block.lane, rules, call):
                raise cut

    def _check_file(self, block: Block, answer: Partial) -> None:
        """Match the text that a call adds to a file, as far as it has arrived."""
        growing = block.growing
        block.size += sum(map(len, growing.parts))
        growing.parts.clear()
        growing.room = max(FIRST_PREVIEW, block.size // PREVIEW_SHARE)
        call = _call_at(answer(), block.index)
        preview = None if call is None else self._ctx.preview(call)
        if call is None or preview is None:
            return
        rules = block.lane.matcher.new(preview.added, preview.removed, is_whole=False)
        if cut := self._decide(block.lane, rules, call):
            raise cut
        language = syntax_language(preview.path)
        concerned = self._concerned_rules(block.lane.trees, call) if language else ()
        complete = preview.added.rpartition("\n")[0]
        if concerned and complete != block.tree and not self._tasks:
            block.tree = complete
            request = MatchRequest(
                text=complete + "\n",
                rules=concerned,
                removed=preview.removed,
                language=language,
                is_whole=False,
            )
            self._match_later(request, block.lane, call)

    # Child process --------------------------------------------------------------------------------

    def _begin_slow(self, block: Block, answer: Partial) -> None:
        """Start to match a block that has ended with the patterns that RE2 does not accept."""
        part = answer().content[block.index]
        if (request := self._slow_request(part, block.lane)) is not None:
            block.checked = request.text
            self._match_later(request, block.lane, part if isinstance(part, ToolCall) else None)

    def _slow_request(self, part: Any, lane: Lane) -> MatchRequest | None:
        rules = self._concerned_rules(lane.slow, part if isinstance(part, ToolCall) else None)
        text, removed = self._texts(part)
        if not rules or not text:
            return None
        return MatchRequest(text=text, rules=rules, removed=removed)

    def _match_later(self, request: MatchRequest, lane: Lane, call: ToolCall | None) -> None:
        token = self._ctx.message_token
        if token is not None:
            work = self._match_and_cut(request, lane, call, token)
            task = self._ctx.run_scope.spawn(work, name="stream rules")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _match_and_cut(
        self, request: MatchRequest, lane: Lane, call: ToolCall | None, token: MessageToken
    ) -> None:
        number = self._number
        matching = await self._slow.find(request)
        if number != self._number:
            return
        if token != self._ctx.message_token:
            self._late.append((lane, matching, call))
        elif cut := self._decide(lane, matching, call):
            self._ctx.interrupt(token, cut)

    # Complete answers -----------------------------------------------------------------------------

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """Match the complete answer before its calls run. Raises ``Interrupt``."""
        if answer.stop_reason in ("error", "aborted") or answer.interrupt is not UNSET:
            self._decisions.answer_failed()
            return answer
        if cut := await self._reject_answer(answer):
            raise cut
        self._decisions.answer_complete()
        return answer

    async def _reject_answer(self, answer: AssistantMessage) -> Interrupt | None:
        for index, part in enumerate(answer.content):
            lane = self._lane_of(part)
            if lane is None or not lane.rules:
                continue
            call = part if isinstance(part, ToolCall) else None
            text, removed = self._texts(part)
            rules = lane.matcher.new(text, removed, is_whole=True)
            if cut := self._decide(lane, rules, call):
                return cut
            if cut := await self._rejected_slowly(index, part, lane):
                return cut
        return None

    async def _rejected_slowly(self, index: int, part: Any, lane: Lane) -> Interrupt | None:
        call = part if isinstance(part, ToolCall) else None
        if self._tasks:
            await asyncio.wait({*self._tasks})
        late, self._late = self._late, []
        for found_late in late:
            if cut := self._decide(*found_late):
                return cut
        block = self._blocks.get(index)
        requests = [self._slow_request(part, lane)] if lane.slow else []
        if requests and requests[0] and block and block.checked == requests[0].text:
            requests = []
        if call is not None and lane.trees:
            requests.append(self._tree_request(call, lane))
        for request in filter(None, requests):
            matching = await self._slow.find(request)
            if cut := self._decide(lane, matching, call):
                return cut
        return None

    def _tree_request(self, call: ToolCall, lane: Lane) -> MatchRequest | None:
        preview = self._ctx.preview(call)
        if preview is None or not (language := syntax_language(preview.path)):
            return None
        rules = self._concerned_rules(lane.trees, call)
        if not rules or not preview.added.strip():
            return None
        return MatchRequest(
            text=preview.added, rules=rules, removed=preview.removed, language=language
        )

    def _lane_of(self, part: Any) -> Lane | None:
        match part:
            case Text():
                return self._lane("text")
            case Thinking():
                return self._lane("thinking")
            case ToolCall(name=name):
                return self._lane("tool", name)
            case _:
                return None

    def _texts(self, part: Any) -> tuple[str, str]:
        """The text of a block, and the text that it replaces."""
        match part:
            case Text(text=text) | Thinking(thinking=text):
                return text, ""
            case ToolCall() if self._ctx.has_preview(part.name):
                preview = self._ctx.preview(part)
                return ("", "") if preview is None else (preview.added, preview.removed)
            case ToolCall(arguments=arguments):
                return "\n".join(_strings(arguments)), ""
            case _:
                return "", ""

    def _concerned_rules(
        self, rules: Sequence[StreamRule], call: ToolCall | None
    ) -> tuple[StreamRule, ...]:
        """The rules that may match now and whose scope includes the file of a call."""
        allowed = tuple(rule for rule in rules if self._decisions.may_match(rule))
        if call is None or not allowed:
            return allowed
        path, cwd = self._path(call), Path(self._ctx.cwd)
        return tuple(rule for rule in allowed if rule.concerns(call.name, path, cwd))

    def _path(self, call: ToolCall) -> str:
        preview = self._ctx.preview(call)
        if preview is not None:
            return preview.path
        named = (call.arguments.get(name) for name in ("path", "file_path", "filePath", "file"))
        return next((value for value in named if isinstance(value, str)), "")

    def _decide(
        self, lane: Lane, rules: Sequence[StreamRule], call: ToolCall | None
    ) -> Interrupt | None:
        if not rules:
            return None
        make = partial(RuleMatch, source=lane.source, call_id=call.id if call else "")
        return self._decisions.decide(
            [make(rule=rule) for rule in self._concerned_rules(rules, call)]
        )

    # After the answer -----------------------------------------------------------------------------

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Put the rules that a call breaks in front of its result."""
        reminder = self._decisions.reminder(call.id)
        if reminder is None:
            return result
        return replace(result, content=(reminder, *result.content))

    async def at_boundary(self, at: Boundary) -> Next:
        """At the end of a turn, record injected rules, and send those that did not interrupt."""
        return self._decisions.end_turn(at) if at.kind == "turn" else at.next


def _call_at(answer: AssistantMessage, index: int) -> ToolCall | None:
    part = answer.content[index] if index < len(answer.content) else None
    return part if isinstance(part, ToolCall) else None


def _strings(value: Any) -> Iterable[str]:
    """All texts in the arguments of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from _strings(member)
