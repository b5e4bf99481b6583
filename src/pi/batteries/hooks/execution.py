"""Runs one hook: a command, a request, a question to a model, a sub-session or an MCP tool."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from pi.batteries.hooks.definitions import HookDefinition
from pi.batteries.hooks.outcomes import Outcome, failed, from_process, from_text, from_verdict
from pi.batteries.hooks.payloads import filled
from pi.extension import (
    ConsentRequest,
    ExtensionAPI,
    ExtensionContext,
    FileFailed,
    HttpError,
    Json,
    PiError,
    Record,
    SubSession,
    Text,
    ToolExecutionStartEvent,
    one_line,
)

PROJECT_DIR = "CLAUDE_PROJECT_DIR"
_INTERPRETERS = frozenset(
    {"python", "python3", "bash", "sh", "zsh", "node", "bun", "deno", "ruby", "perl", "tsx", "php"}
)
_SUFFIXES = frozenset({".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php"})
_OPERATORS = frozenset(";&|()<>")
_MAX_SCRIPT_BYTES = 16 * 1024 * 1024
UNREADABLE = "unreadable"


class HookPlaces(Record):
    """The directories that commands refer to."""

    project: Path
    home: Path

    def path(self, word: str) -> Path:
        """Return the path that a word of a command stands for."""
        if word.startswith("~/"):
            return self.home / word[2:]
        return self.project / word


def command_words(hook: HookDefinition, project: Path) -> list[str]:
    """Return the words of a command, with the project's folder put in and operators kept."""
    command = _with_project(hook.text("command"), project)
    args = hook.options.get("args")
    if isinstance(args, list):
        return [command, *(_with_project(str(word), project) for word in args)]
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote: the shell will complain, the files still count
        return command.split()


def _with_project(text: str, project: Path) -> str:
    for form in (f"${{{PROJECT_DIR}}}", f"${PROJECT_DIR}"):
        text = text.replace(form, str(project))
    return text


def _paths(words: list[str], places: HookPlaces) -> Iterator[Path]:
    for word in words:
        for part in dict.fromkeys((word, word.partition("=")[2])):
            if part and not _OPERATORS.issuperset(part) and "\0" not in part:
                yield places.path(part)


def project_files(hook: HookDefinition, places: HookPlaces) -> list[Path]:
    """Return the files of the project that a command names; only names are looked up."""
    if hook.type != "command":
        return []
    project = places.project
    roots = (str(project), os.path.realpath(project))
    found: dict[Path, None] = {}
    for path in _paths(command_words(hook, project), places):
        # By its name and by what it links to: both can be changed in the project.
        forms = (os.path.normpath(path), os.path.realpath(path))
        if path.is_file() and any(_is_below(form, roots) for form in forms):
            found[Path(forms[0])] = None
    return list(found)


def _is_below(place: str, roots: tuple[str, ...]) -> bool:
    return any(Path(place).is_relative_to(root) for root in roots)


async def content_hashes(files: list[Path], ctx: ExtensionContext) -> dict[str, str]:
    """Return the hash of each file's content by its path; consent is bound to it."""
    hashes: dict[str, str] = {}
    for path in files:
        name = str(path.relative_to(ctx.cwd) if path.is_relative_to(ctx.cwd) else path)
        try:
            data = await ctx.files.read_file(str(path), most=_MAX_SCRIPT_BYTES)
        except FileFailed:
            hashes[name] = UNREADABLE
        else:
            hashes[name] = hashlib.sha256(data).hexdigest()
    return hashes


def missing_script(hook: HookDefinition, places: HookPlaces) -> Path | None:
    """Return the script that a command would run first, if it does not exist.

    ``python3 missing.py`` exits with 2, which would read as a decision to block everything.
    """
    script = _first_script(command_words(hook, places.project))
    if script is None or "$" in script or "`" in script:
        return None
    path = places.path(script)
    return None if path.exists() else path


def _first_script(words: list[str]) -> str | None:
    """Return the script of the first command, if it is a path."""
    rest = iter(words)
    program = next((word for word in rest if not _is_assignment(word)), "")
    if "/" in program:
        return program
    if program not in _INTERPRETERS:
        return None
    for word in rest:
        if word in ("-c", "-m", "-e", "--eval", "-") or _OPERATORS.issuperset(word):
            return None
        if word.startswith("-") or word == "run":
            continue
        return word if "/" in word or Path(word).suffix in _SUFFIXES else None
    return None


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


VERDICT = """\
You check a condition for a hook of a coding agent. Answer with one JSON object and nothing else:
{"ok": true} if the condition is met, else {"ok": false, "reason": "why, and what to do"}.
"""
AGENT_TOOLS = ("read", "grep", "find", "ls")
"""A hook that checks something changes nothing."""
AGENT_TURNS = 50
MAX_RESPONSE_BYTES = 1024 * 1024
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


class HookRunner:
    """Runs hooks of one session, each after its consent."""

    def __init__(
        self, pi: ExtensionAPI, variables: Callable[[HookDefinition], Mapping[str, str]]
    ) -> None:
        self._pi = pi
        self._variables = variables
        """Returns further variables of a command."""
        self.exempt: set[str] = set()
        """Ids of tool calls that agent hooks make: hooks do not apply to them."""

    @property
    def _places(self) -> HookPlaces:
        home = self._pi.context.environ.get("HOME") or str(Path.home())
        return HookPlaces(project=self._pi.context.cwd, home=Path(home))

    # Consent --------------------------------------------------------------------------------------

    async def consent_request(self, hook: HookDefinition) -> ConsentRequest | None:
        """Return what the user has to allow; ``None`` for the user's own hooks of pi.

        A file of the project that a command runs is part of the definition with its content: a
        changed script needs a new decision, whichever file names it.
        """
        ctx = self._pi.context
        files = project_files(hook, self._places)
        if not files and hook.scope == "user" and hook.origin == "pi":
            return None
        # Bytes of a project are not read before it is trusted; without trust nothing is asked.
        scripts = await content_hashes(files, ctx) if ctx.is_project_trusted() else {}
        own = {"event": hook.event, "type": hook.type, "matcher": hook.matcher, "files": scripts}
        definition = {**hook.options, **{name: value for name, value in own.items() if value}}
        is_project = hook.scope == "project" or not files
        return ConsentRequest(
            kind="hook",
            name=f"{hook.event} {one_line(hook.label)[:60]}",
            source=hook.source if is_project else str(files[0]),
            definition=definition,
        )

    async def is_allowed(self, hook: HookDefinition) -> bool:
        """Whether a hook may run now; asks again if its script has changed."""
        request = await self.consent_request(hook)
        return request is None or bool(await self._pi.context.consent.allowed([request]))

    # Running --------------------------------------------------------------------------------------

    async def run(self, hook: HookDefinition, payload: Json) -> Outcome:
        """Run a hook and return its outcome. A hook that does not work is a failure, not a block.

        Cancelling ends its program.
        """
        if not await self.is_allowed(hook):
            return Outcome()
        kinds = {
            "command": self._command,
            "http": self._http,
            "prompt": self._prompt,
            "agent": self._agent,
            "mcp_tool": self._mcp_tool,
        }
        try:
            if hook.type == "command":  # ends its process itself
                return await self._command(hook, payload)
            async with asyncio.timeout(hook.timeout):
                return await kinds[hook.type](hook, payload)
        except TimeoutError:
            return failed(hook, f"did not end within {hook.timeout:g} seconds and was stopped")
        except PiError as error:
            return failed(hook, "failed", error.message)

    async def _command(self, hook: HookDefinition, payload: Json) -> Outcome:
        if (script := missing_script(hook, self._places)) is not None:
            return failed(hook, f"was not run: {script} does not exist")
        if isinstance(hook.options.get("args"), list):
            words = command_words(hook, self._pi.context.cwd)
        else:
            words = [self._pi.context.shell_setup().path, "-c", hook.text("command")]
        ended = await self._pi.exec(
            words,
            stdin=msgspec.json.encode(payload),
            env={PROJECT_DIR: str(self._pi.context.cwd), **self._variables(hook)},
            environment="command",
            timeout=hook.timeout,
            kind="hook",
        )
        return from_process(hook, ended.code, ended.stdout, ended.stderr, timed_out=ended.killed)

    async def _http(self, hook: HookDefinition, payload: Json) -> Outcome:
        try:
            response = await self._pi.http.request(
                hook.text("url"),
                method="POST",
                headers={"content-type": "application/json", **self._headers(hook)},
                body=msgspec.json.encode(payload),
                limit=MAX_RESPONSE_BYTES,
            )
        except HttpError as error:
            return failed(hook, "could not be reached", error.message)
        if not 200 <= response.status < 300:
            return failed(hook, f"answered with status {response.status}")
        return from_text(hook, response.body.decode("utf-8", "replace"))

    def _headers(self, hook: HookDefinition) -> dict[str, str]:
        """Return the headers; variables are put in only if the user's own file lists them."""
        given = hook.options.get("headers")
        listed = hook.options.get("allowedEnvVars")
        names = set(listed) if isinstance(listed, list) and hook.scope == "user" else set()
        environ = self._pi.context.environ

        def value(found: re.Match[str]) -> str:
            return environ.get(found[1], "") if found[1] in names else ""

        headers = given if isinstance(given, dict) else {}
        return {str(name): _VARIABLE.sub(value, str(text)) for name, text in headers.items()}

    async def _prompt(self, hook: HookDefinition, payload: Json) -> Outcome:
        answer = await self._pi.models.complete(
            _question(hook, payload), model=self._model(hook), system=VERDICT
        )
        if answer.stop_reason not in ("stop", "length"):
            return failed(hook, "got no answer", str(answer.error_message or answer.stop_reason))
        return from_verdict(hook, answer.text)

    async def _agent(self, hook: HookDefinition, payload: Json) -> Outcome:
        handle = await self._pi.sub_session(
            SubSession(
                prompt=_question(hook, payload),
                tools=AGENT_TOOLS,
                model=self._model(hook),
                append_system=VERDICT,
                turns=AGENT_TURNS,
                extensions="guards",
            )
        )
        # Its calls pass the guards of this session: without this, hooks would start themselves.
        end = handle.events(self._exempt_call)
        try:
            answer = await handle.result()
        finally:
            end()
            await handle.close()
        return from_verdict(hook, "" if answer is None else answer.text)

    def _exempt_call(self, event: object) -> None:
        if isinstance(event, ToolExecutionStartEvent):
            self.exempt.add(event.tool_call_id)

    async def _mcp_tool(self, hook: HookDefinition, payload: Json) -> Outcome:
        server, tool = hook.text("server"), hook.text("tool")
        names = (f"mcp__{server}_{tool}", f"mcp__{server}__{tool}")
        known = {each.name for each in self._pi.get_all_tools()}
        name = next((each for each in names if each in known), None)
        if name is None:
            return failed(hook, f"was not run: there is no tool {names[0]}")
        given = hook.options.get("input")
        arguments = filled(given, payload) if isinstance(given, dict) else {}
        result = await self._pi.call_tool(name, arguments)
        text = "\n".join(block.text for block in result.content if isinstance(block, Text))
        return failed(hook, "failed", text) if result.is_error else from_text(hook, text)

    def _model(self, hook: HookDefinition) -> str | None:
        """Return the model of a hook, if it names one that is known; else that of the session."""
        name = hook.text("model")
        return name if name and self._pi.models.resolve(name) is not None else None


def _question(hook: HookDefinition, payload: Json) -> str:
    text, data = hook.text("prompt"), msgspec.json.encode(payload).decode()
    return text.replace("$ARGUMENTS", data) if "$ARGUMENTS" in text else f"{text}\n\n{data}"
