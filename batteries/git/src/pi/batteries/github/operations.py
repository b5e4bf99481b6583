"""The actions of ``gh``: one function each, from arguments to text."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote

from pi.batteries.github import texts
from pi.batteries.github.client import DIFF, ApiRequest, GitHubClient, join_values
from pi.batteries.github.repositories import Repository
from pi.extension import Json, Meta, Record, ToolFailed, replace

Action: TypeAlias = Literal[
    "repo_view", "issue_list", "issue_view", "issue_search", "issue_create", "issue_comment",
    "issue_close", "issue_reopen", "pr_list", "pr_view", "pr_search", "pr_diff", "pr_files",
    "pr_checks", "pr_reviews", "pr_create", "pr_comment", "pr_review", "pr_close", "pr_reopen",
    "pr_merge", "run_list", "run_view", "run_logs",
]  # fmt: skip
Count: TypeAlias = Annotated[int, Meta(ge=1)]
WRITES = frozenset(
    {
        "issue_create", "issue_comment", "issue_close", "issue_reopen", "pr_create", "pr_comment",
        "pr_review", "pr_close", "pr_reopen", "pr_merge",
    }
)  # fmt: skip
"""Actions that change something; the user has to agree each time."""
MAX_LOGS = 3
"""Maximum of failed jobs whose logs are read."""
MAX_LOG = 20_000
"""Characters shown of the end of a log; the whole log becomes an artifact."""
_SCOPED = re.compile(r"(?:^|\s)(?:repo|org|user):")
_KIND = re.compile(r"(?:^|\s)(?:is|type):(?:issue|pr|pull-request)\b")
_RUN = re.compile(r"\d{1,18}")


class GhParams(Record):
    """Arguments of a call."""

    action: Action
    repo: Annotated[str, Meta(description="owner/name; by default that of the git remote")] = ""
    number: Annotated[Count | None, Meta(description="Issue or pull request")] = None
    query: Annotated[str, Meta(description="For searches, in the syntax of GitHub")] = ""
    state: Annotated[Literal["open", "closed", "all"], Meta(description="For lists")] = "open"
    labels: Annotated[
        tuple[str, ...], Meta(description="Filter of issue_list; of issue_create")
    ] = ()
    title: Annotated[str, Meta(description="For issue_create, pr_create")] = ""
    body: Annotated[str, Meta(description="Text of what is created, in Markdown")] = ""
    head: Annotated[str, Meta(description="Branch: of pr_create, filter of pr_list, run_list")] = ""
    base: Annotated[str, Meta(description="Branch to merge into; by default the main one")] = ""
    draft: Annotated[bool, Meta(description="For pr_create")] = False
    reason: Annotated[Literal["completed", "not_planned"], Meta(description="For issue_close")] = (
        "completed"
    )
    event: Annotated[
        Literal["approve", "request_changes", "comment"], Meta(description="For pr_review")
    ] = "comment"
    method: Annotated[Literal["merge", "squash", "rebase"], Meta(description="For pr_merge")] = (
        "merge"
    )
    ref: Annotated[str, Meta(description="Commit or branch, for pr_checks without a number")] = ""
    run: Annotated[str, Meta(description="Id of a workflow run, for run_view and run_logs")] = ""
    limit: Annotated[int, Meta(ge=1, le=300, description="How many rows or comments")] = 30
    page: Annotated[int, Meta(ge=1, le=1000, description="Where a list continues")] = 1


class GitHubResult(Record):
    """The result of an action."""

    text: str
    subject: str = ""
    """The subject of the action, for the screen."""
    whole: str = ""
    """A long text that is kept as an artifact; ``text`` has a part of it."""


class Operations:
    """The actions on one repository."""

    def __init__(
        self, client: GitHubClient, repository: Repository, branch: Callable[[], Awaitable[str]]
    ) -> None:
        self._client = client
        self._repository = repository
        self._branch = branch
        """Returns the current branch of the project."""
        self._base = f"repos/{quote(repository.owner, safe='')}/{quote(repository.name, safe='')}"

    async def perform(self, params: GhParams) -> GitHubResult:
        """Do one action. Raises ``ToolFailed``."""
        act: Callable[[GhParams], Awaitable[GitHubResult]] = getattr(self, f"_{params.action}")
        return await act(params)

    async def prepare(self, params: GhParams) -> tuple[GhParams, Json]:
        """Complete the arguments of a write, and fetch what it changes, before the user is asked.

        The question needs the title and the commit: "merge number 7" says too little.
        """
        _check(params)
        if params.action in ("issue_create", "pr_create"):
            if params.action == "issue_create":
                return params, {}
            head = params.head or await self._branch()
            base = params.base or texts.line(
                (await self._client.json(ApiRequest(path=self._base))).get("default_branch")
            )
            return replace(params, head=head, base=base), {}
        kind = "pulls" if params.action == "pr_merge" else "issues"
        row = await self._client.json(self._request_at(f"{kind}/{_number(params)}"))
        return params, row if isinstance(row, dict) else {}

    # Repositories and issues ----------------------------------------------------------------------

    async def _repo_view(self, params: GhParams) -> GitHubResult:
        return GitHubResult(text=texts.repository(await self._object(ApiRequest(path=self._base))))

    async def _issue_list(self, params: GhParams) -> GitHubResult:
        filters = {"state": params.state, "labels": join_values(params.labels)}
        rows, more = await self._client.rows(
            self._request_at("issues", **filters), params.limit, page=params.page
        )
        # Pull requests are issues for this part of the API.
        issues = [row for row in rows if not row.get("pull_request")]
        return GitHubResult(text=texts.listed(issues, "issues", params.page, more=more))

    async def _issue_view(self, params: GhParams) -> GitHubResult:
        number = _number(params)
        row = await self._object(self._request_at(f"issues/{number}"))
        comments, more = await self._comments(number, params)
        return GitHubResult(text=texts.issue(row, comments, more=more), subject=_subject(row))

    async def _issue_search(self, params: GhParams) -> GitHubResult:
        return await self._search(params, "is:issue", "issues")

    async def _pr_search(self, params: GhParams) -> GitHubResult:
        return await self._search(params, "is:pr", "pull requests")

    async def _search(self, params: GhParams, kind: str, noun: str) -> GitHubResult:
        if not params.query.strip():
            raise ToolFailed(f"{params.action} needs a query.")
        query = params.query.strip()
        query += "" if _KIND.search(query) else f" {kind}"
        query += "" if _SCOPED.search(query) else f" repo:{self._repository.full_name}"
        request = ApiRequest(path="search/issues", parameters={"q": query})
        rows, more = await self._client.rows(
            request, params.limit, within="items", page=params.page
        )
        return GitHubResult(
            text=texts.listed(rows, noun, params.page, more=more), subject=params.query
        )

    async def _issue_create(self, params: GhParams) -> GitHubResult:
        labels = {"labels": list(params.labels)} if params.labels else {}
        sent: Json = {"title": params.title, "body": params.body, **labels}
        return await self._write("issues", sent, "Created the issue", "POST")

    async def _issue_comment(self, params: GhParams) -> GitHubResult:
        path = f"issues/{_number(params)}/comments"
        return await self._write(path, {"body": params.body}, "Added a comment", "POST")

    _pr_comment = _issue_comment

    async def _issue_close(self, params: GhParams) -> GitHubResult:
        sent: Json = {"state": "closed", "state_reason": params.reason}
        return await self._write(f"issues/{_number(params)}", sent, "Closed the issue", "PATCH")

    async def _issue_reopen(self, params: GhParams) -> GitHubResult:
        sent: Json = {"state": "open"}
        return await self._write(f"issues/{_number(params)}", sent, "Reopened the issue", "PATCH")

    # Pull requests --------------------------------------------------------------------------------

    async def _pr_list(self, params: GhParams) -> GitHubResult:
        head = params.head
        if head and ":" not in head:  # otherwise GitHub ignores the filter
            head = f"{self._repository.owner}:{head}"
        filters = {"state": params.state, "head": head, "base": params.base}
        rows, more = await self._client.rows(
            self._request_at("pulls", **filters), params.limit, page=params.page
        )
        return GitHubResult(text=texts.listed(rows, "pull requests", params.page, more=more))

    async def _pr_view(self, params: GhParams) -> GitHubResult:
        number = _number(params)
        row = await self._object(self._request_at(f"pulls/{number}"))
        comments, more = await self._comments(number, params)
        return GitHubResult(text=texts.pull(row, comments, more=more), subject=_subject(row))

    async def _pr_diff(self, params: GhParams) -> GitHubResult:
        path = f"{self._base}/pulls/{_number(params)}"
        text, cut = await self._client.text(ApiRequest(path=path, accept=DIFF))
        text += "\n[The diff is longer: see pr_files.]" if cut else ""
        return GitHubResult(text=text or "No changes.", subject=f"#{params.number}")

    async def _pr_files(self, params: GhParams) -> GitHubResult:
        request = self._request_at(f"pulls/{_number(params)}/files")
        rows, more = await self._client.rows(request, params.limit, page=params.page)
        return GitHubResult(text=texts.files(rows, more=more), subject=f"#{params.number}")

    async def _pr_reviews(self, params: GhParams) -> GitHubResult:
        path = f"pulls/{_number(params)}"
        reviews, more = await self._client.rows(
            self._request_at(f"{path}/reviews"), params.limit, page=params.page
        )
        comments, also = await self._client.rows(
            self._request_at(f"{path}/comments"), params.limit, page=params.page
        )
        text = texts.reviews(reviews, comments, more=more or also)
        return GitHubResult(text=text, subject=f"#{params.number}")

    async def _pr_checks(self, params: GhParams) -> GitHubResult:
        sha = params.ref
        if params.number is not None:
            row = await self._object(self._request_at(f"pulls/{params.number}"))
            sha = str(texts.member_at(row, "head", "sha") or "")
        if not sha:
            raise ToolFailed("pr_checks needs number or ref.")
        commit = f"commits/{quote(sha, safe='')}"
        runs, more = await self._client.rows(
            self._request_at(f"{commit}/check-runs"), max(params.limit, 100), within="check_runs"
        )
        status = await self._object(self._request_at(f"{commit}/status"))
        return GitHubResult(text=texts.checks(sha, runs, status, more=more), subject=sha[:10])

    async def _pr_create(self, params: GhParams) -> GitHubResult:
        sent: Json = {
            "title": params.title,
            "body": params.body,
            "head": params.head,
            "base": params.base,
            "draft": params.draft,
        }
        return await self._write("pulls", sent, "Created the pull request", "POST")

    async def _pr_review(self, params: GhParams) -> GitHubResult:
        sent: Json = {"event": params.event.upper(), "body": params.body}
        return await self._write(f"pulls/{_number(params)}/reviews", sent, "Added a review", "POST")

    async def _pr_close(self, params: GhParams) -> GitHubResult:
        path = f"pulls/{_number(params)}"
        return await self._write(path, {"state": "closed"}, "Closed the pull request", "PATCH")

    async def _pr_reopen(self, params: GhParams) -> GitHubResult:
        path = f"pulls/{_number(params)}"
        return await self._write(path, {"state": "open"}, "Reopened the pull request", "PATCH")

    async def _pr_merge(self, params: GhParams) -> GitHubResult:
        # ``ref`` is the commit that the user has agreed to; GitHub refuses to merge another one.
        sent: Json = {"merge_method": params.method, "sha": params.ref}
        path = f"pulls/{_number(params)}/merge"
        return await self._write(path, sent, f"Merged #{params.number}", "PUT")

    # Workflow runs --------------------------------------------------------------------------------

    async def _run_list(self, params: GhParams) -> GitHubResult:
        request = self._request_at("actions/runs", branch=params.head, head_sha=params.ref)
        rows, more = await self._client.rows(
            request, params.limit, within="workflow_runs", page=params.page
        )
        return GitHubResult(text=texts.runs(rows, params.page, more=more))

    async def _run_view(self, params: GhParams) -> GitHubResult:
        path = f"actions/runs/{_run(params)}"
        row = await self._object(self._request_at(path))
        text = f"{texts.run(row)}\n{texts.jobs(await self._jobs(path))}"
        return GitHubResult(text=text, subject=params.run)

    async def _run_logs(self, params: GhParams) -> GitHubResult:
        rows = await self._jobs(f"actions/runs/{_run(params)}")
        failed = [row for row in rows if row.get("conclusion") in texts.FAILED]
        if not failed:
            return GitHubResult(
                text=f"No job of this run failed.\n{texts.jobs(rows)}", subject=params.run
            )
        sections, full_logs = [texts.jobs(failed)], []
        for row in failed[:MAX_LOGS]:
            path = f"{self._base}/actions/jobs/{row.get('id')}/logs"
            name = f"## Log of {texts.line(row.get('name'))}"
            try:
                text, cut = await self._client.text(ApiRequest(path=path, accept="text/plain"))
            except ToolFailed as error:  # logs expire; those of other jobs may still exist
                sections.append(f"{name}\n\n{error.message}")
                continue
            text = texts.log(text)
            note = "\n[The log is longer than what was read.]" if cut else ""
            full_logs.append(f"{name}\n\n{text}{note}")
            start = f"[{len(text) - MAX_LOG:,} characters before]\n" if len(text) > MAX_LOG else ""
            sections.append(f"{name}\n\n{start}{text[-MAX_LOG:]}{note}")
        if len(failed) > MAX_LOGS:
            sections.append(f"[{len(failed) - MAX_LOGS} more failed jobs]")
        return GitHubResult(
            text="\n\n".join(sections), whole="\n\n".join(full_logs), subject=params.run
        )

    # Requests -------------------------------------------------------------------------------------

    def _request_at(self, path: str, **parameters: Any) -> ApiRequest:
        return ApiRequest(path=f"{self._base}/{path}", parameters=parameters)

    async def _object(self, query: ApiRequest) -> Json:
        value = await self._client.json(query)
        if not isinstance(value, dict):
            raise ToolFailed("The answer of GitHub has an unknown form.")
        return value

    async def _comments(self, number: int, params: GhParams) -> tuple[list[Json], bool]:
        request = self._request_at(f"issues/{number}/comments")
        return await self._client.rows(request, params.limit, page=params.page)

    async def _jobs(self, path: str) -> list[Json]:
        rows, _ = await self._client.rows(self._request_at(f"{path}/jobs"), 300, within="jobs")
        return rows

    async def _write(
        self, path: str, sent: Json, outcome: str, method: Literal["POST", "PATCH", "PUT"]
    ) -> GitHubResult:
        query = ApiRequest(path=f"{self._base}/{path}", method=method, body=sent)
        text = texts.written(await self._object(query), outcome)
        return GitHubResult(text=text, subject=text)


def _check(params: GhParams) -> None:
    """Raise ``ToolFailed`` for a write with invalid arguments, before the user is asked."""
    if params.action in ("issue_create", "pr_create") and not params.title.strip():
        raise ToolFailed(f"{params.action} needs a title.")
    empty = not params.body.strip()
    if params.action in ("issue_comment", "pr_comment") and empty:
        raise ToolFailed(f"{params.action} needs a body.")
    if params.action == "pr_review" and params.event != "approve" and empty:
        raise ToolFailed(f"pr_review with {params.event} needs a body.")


def _number(params: GhParams) -> int:
    if params.number is None:
        raise ToolFailed(f"{params.action} needs a number.")
    return params.number


def _run(params: GhParams) -> str:
    if not _RUN.fullmatch(params.run):
        raise ToolFailed(f"{params.action} needs run, the id of a workflow run: see run_list.")
    return params.run


def _subject(row: Json) -> str:
    return f"#{row.get('number')} {texts.line(row.get('title'), 100)}"
