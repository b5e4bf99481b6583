"""Commits what is staged: git through the spawn choke point, messages through the role."""

from __future__ import annotations

import asyncio

from pi.batteries.commit.messages import (
    FILE_SYSTEM,
    MAX_DIFF,
    SPLIT_SYSTEM,
    SYSTEM,
    CommitGroup,
    StagedChanges,
    fallback,
    groups_of,
    message_of,
    parse_status,
    question,
    shortened,
)
from pi.extension import CommandContext, ExtensionAPI, PiError, Record, StreamOptions

FLAGS = ("push", "split", "dry-run", "no-verify")
GIT_SECONDS = 120.0
MAX_TOKENS = 2_000
PARALLEL = 4
RECENT = 12
NOTHING = "Nothing is staged."
STAGE = "Stage changes with `git add`, then run it again."


def extension(pi: ExtensionAPI) -> None:
    """Register the command, which ``pi commit`` runs as well."""
    commits = Commits(pi)
    pi.register_command(
        "commit",
        commits.command,
        description="commit the staged changes with a written message",
        completions=lambda begin: [f"--{f}" for f in FLAGS if f"--{f}".startswith(begin)],
        needs_run_here=True,
    )


class CommitOptions(Record):
    """What the user asked for."""

    context: str = ""
    push: bool = False
    split: bool = False
    dry_run: bool = False
    no_verify: bool = False


class Commits:
    """``pi commit`` and ``/commit``."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._root: str | None = None
        """The folder of the repository: git lists paths relative to it."""

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Write messages and commit."""
        options = _options(arguments, ctx)
        self._root = (await self._git("rev-parse", "--show-toplevel")).strip()
        changes = await self._staged()
        groups = await self._proposals(changes, options)
        if options.dry_run:
            ctx.write("\n\n".join(_shown(group, len(groups)) for group in groups) + "\n")
            return
        for group in groups:
            await self._commit(group, options, whole=len(groups) == 1)
            ctx.write(_shown(group, len(groups)) + "\n")
        if options.push:
            ctx.write((await self._git("push")).strip() + "\n")

    # Git ------------------------------------------------------------------------------------------

    async def _git(self, *words: str, stdin: str | None = None) -> str:
        """Run git and return its output. Raises ``PiError`` with its message."""
        # Command environment: hooks and signing need the variables of the user's commands.
        done = await self._pi.exec(
            ["git", *words],
            stdin=stdin,
            cwd=self._root,
            timeout=GIT_SECONDS,
            environment="command",
            kind="extension",
        )
        if done.code != 0:
            text = (done.stderr or done.stdout).strip() or f"exit code {done.code}"
            raise PiError(f"git {words[0]} failed: {text}")
        return done.stdout or done.stderr

    async def _staged(self) -> StagedChanges:
        listed = await self._git(
            "diff", "--cached", "--name-status", "-z", "--no-renames", "--no-ext-diff"
        )
        files = parse_status(listed)
        if not files:
            raise PiError(NOTHING, hint=STAGE)
        diffs = {}
        for path, _ in files:
            diffs[path] = await self._git(
                "diff", "--cached", "--no-color", "--no-renames", "--no-ext-diff", "--", path
            )
        try:
            recent = await self._git("log", f"-{RECENT}", "--format=%s")
        except PiError:  # the first commit
            recent = ""
        return StagedChanges(files=files, diffs=diffs, recent=recent.strip())

    async def _commit(self, group: CommitGroup, options: CommitOptions, *, whole: bool) -> None:
        words = ["commit", "-q", "-F", "-"]
        if options.no_verify:
            words.append("--no-verify")
        if whole:
            await self._git(*words, stdin=group.message)
            return
        # Only these files, as they are staged: unstaged changes of a file stay where they are.
        tree = (await self._git("write-tree")).strip()
        await self._git("read-tree", await self._base())
        try:
            for path in group.files:
                await self._stage(path, tree)
            await self._git(*words, stdin=group.message)
        finally:
            await self._git("read-tree", tree)

    async def _base(self) -> str:
        try:
            return (await self._git("rev-parse", "--verify", "HEAD^{tree}")).strip()
        except PiError:  # no commit yet: the empty tree
            return (await self._git("hash-object", "-w", "-t", "tree", "--stdin", stdin="")).strip()

    async def _stage(self, path: str, tree: str) -> None:
        """Put a file into the index as it is in ``tree``; removes it if it is not there."""
        entry = await self._git("ls-tree", "-z", tree, "--", f":(literal){path}")
        if not entry.strip("\0 \n"):
            await self._git("update-index", "--force-remove", "--", path)
            return
        mode, _, rest = entry.partition(" ")
        object_id = rest.split()[1]
        await self._git("update-index", "--add", "--cacheinfo", f"{mode},{object_id},{path}")

    # Messages -------------------------------------------------------------------------------------

    async def _proposals(
        self, changes: StagedChanges, options: CommitOptions
    ) -> tuple[CommitGroup, ...]:
        environ = self._pi.context.environ
        files = tuple(path for path, _ in changes.files)
        if not _is_true(environ.get("PI_COMMIT_TEST_FALLBACK")):
            texts = await self._texts(changes)
            asked = question(changes, options.context, texts)
            if options.split and len(files) > 1:
                groups = groups_of(await self._ask(asked, SPLIT_SYSTEM), changes)
                if groups:
                    return groups
                self._pi.warn("The changes could not be divided: they become one commit.")
            if message := message_of(await self._ask(asked, SYSTEM)):
                return (CommitGroup(files=files, message=message),)
        if _is_true(environ.get("PI_COMMIT_NO_FALLBACK")):
            raise PiError(
                "No model has written a message, and PI_COMMIT_NO_FALLBACK forbids a plain one.",
                hint="Commit with `git commit`, or set a model for the role commit: /roles.",
            )
        return (CommitGroup(files=files, message=fallback(changes)),)

    async def _texts(self, changes: StagedChanges) -> dict[str, str]:
        """Return the changes, or summaries of large ones, each written by a request of its own."""
        setting = self._pi.context.environ.get("PI_COMMIT_MAP_REDUCE", "").strip().lower()
        if changes.size <= MAX_DIFF or setting == "false":
            return shortened(changes)
        limit = asyncio.Semaphore(PARALLEL)
        short = shortened(changes)

        async def summarised(path: str) -> tuple[str, str]:
            async with limit:
                text = changes.diffs[path][:MAX_DIFF]
                answer = await self._ask(f'<change file="{path}">\n{text}\n</change>', FILE_SYSTEM)
            return path, answer.strip() or short[path]

        return dict(await asyncio.gather(*map(summarised, changes.diffs)))

    async def _ask(self, asked: str, system: str) -> str:
        """Return the first answer of the models of the role; empty if none answers."""
        problem = ""
        for each in (await self._pi.models.for_role("commit")).models:
            answer = await self._pi.models.complete(
                asked,
                model=each.model,
                system=system,
                options=StreamOptions(max_tokens=MAX_TOKENS, reasoning=each.thinking or "off"),
            )
            if answer.stop_reason not in ("error", "aborted") and answer.text.strip():
                return answer.text
            problem = answer.error_message or "an empty answer"
        self._pi.warn(f"No model has answered: {problem or 'no model is available (/login)'}.")
        return ""


def _options(arguments: str, ctx: CommandContext) -> CommitOptions:
    words = arguments.split()
    given = {name for name in FLAGS if ctx.flags.get(name) or f"--{name}" in words}
    context = " ".join(word for word in words if word.removeprefix("--") not in FLAGS)
    return CommitOptions(
        context=context,
        push="push" in given,
        split="split" in given,
        dry_run="dry-run" in given,
        no_verify="no-verify" in given,
    )


def _shown(group: CommitGroup, count: int) -> str:
    if count == 1:
        return group.message
    return f"{group.message}\n  {', '.join(group.files)}"


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() == "true"
