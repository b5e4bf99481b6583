"""Table of all settings in ``settings.json``.

``/settings``, ``pi doctor``, the guide and ``docs/reference/settings.md`` are made from these rows.
Tests compare names and defaults with the records that the program reads. Not loaded at the start of
a session.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.ai.models.model import THINKING_LEVELS
from pi.base.records import Record, replace
from pi.coding.settings.values import GLOBAL_ONLY

Kind: TypeAlias = Literal["choice", "number", "text", "list", "json"]
"""``list`` is a JSON array of strings, ``json`` any other array or object."""

Applies: TypeAlias = Literal["at once", "reload", "start"]
"""When a change takes effect: at once, after ``/reload`` and in new sessions, at the next start."""

Value: TypeAlias = str | int | bool | None

_SEARCH_PROVIDERS = (
    *("tavily", "perplexity", "brave", "jina", "kimi", "anthropic", "gemini", "codex", "zai"),
    *("exa", "parallel", "kagi", "synthetic", "searxng"),
)

USER_ONLY = frozenset({"compaction.remoteEndpoint"})
"""Single settings that a project cannot change: it would choose where conversations are sent."""
FOR_THE_FIRST_FRAME = frozenset(
    {
        "tuiMode",
        "fullscreenExitOutput",
        "fullscreenScrollbar",
        "showHardwareCursor",
        "terminal.hyperlinks",
        "terminal.trueColor",
        "terminal.images",
        "tui.screenReader",
    }
)
"""Settings needed before anything of a project may be read, so only the user's file counts."""


class Setting(Record):
    """One setting."""

    name: str
    """Its path in ``settings.json``, with dots."""
    label: str
    description: str
    kind: Kind
    group: str = ""
    default: Value | tuple[str, ...] = None
    choices: tuple[Value, ...] = ()
    least: int = 0
    most: int | None = None
    needs: tuple[str, ...] = ()
    """Settings that must be on for this one to have an effect."""
    applies: Applies = "at once"

    @property
    def is_global(self) -> bool:
        """Whether only the user's file counts, not that of a project."""
        names = FOR_THE_FIRST_FRAME | USER_ONLY
        return self.name.partition(".")[0] in GLOBAL_ONLY or self.name in names

    @property
    def notes(self) -> tuple[str, ...]:
        """Conditions, as sentences."""
        found = []
        if self.needs:
            found.append(f"Has no effect without {' and '.join(self.needs)}.")
        if self.applies != "at once":
            when = {"reload": "with /reload", "start": "at the next start"}[self.applies]
            found.append(f"Takes effect {when}.")
        return tuple(found)


# Row constructors ---------------------------------------------------------------------------------


def group(name: str, *settings: Setting) -> tuple[Setting, ...]:
    """Group of settings."""
    return tuple(replace(setting, group=name) for setting in settings)


def needing(names: tuple[str, ...], *settings: Setting) -> tuple[Setting, ...]:
    """Settings without effect unless ``names`` are on."""
    return tuple(replace(setting, needs=names) for setting in settings)


def applied(when: Applies, *settings: Setting) -> tuple[Setting, ...]:
    """Settings whose changes do not take effect at once."""
    return tuple(replace(setting, applies=when) for setting in settings)


def switch(name: str, label: str, description: str, *, on: bool) -> Setting:
    """On or off."""
    made = _of("choice", name, label, description)
    return replace(made, default=on, choices=(True, False))


def choice(name: str, label: str, description: str, choices: tuple[Value, ...]) -> Setting:
    """One of several values; the first is the default."""
    made = _of("choice", name, label, description)
    return replace(made, default=choices[0], choices=choices)


def named(setting: Setting, *names: str) -> Setting:
    """A string, or a list of strings, of which only these ``names`` are known."""
    return replace(setting, choices=names)


def number(
    name: str,
    label: str,
    description: str,
    default: int | None,
    *,
    least: int = 0,
    most: int | None = None,
) -> Setting:
    """A whole number."""
    made = _of("number", name, label, description)
    return replace(made, default=default, least=least, most=most)


def text(name: str, label: str, description: str, default: str | None = None) -> Setting:
    """A string."""
    return replace(_of("text", name, label, description), default=default)


def words(name: str, label: str, description: str, *default: str) -> Setting:
    """A list of strings."""
    return replace(_of("list", name, label, description), default=default or None)


def json(name: str, label: str, description: str) -> Setting:
    """Any other array or object."""
    return _of("json", name, label, description)


def _of(kind: Kind, name: str, label: str, description: str) -> Setting:
    return Setting(name=name, label=label, description=description, kind=kind)


# The rows -----------------------------------------------------------------------------------------

_LEVELS = ("medium", *(level for level in THINKING_LEVELS if level != "medium"))
_QUEUE = ("one-at-a-time", "all")
_AUTO = ("auto", True, False)
_PATHS = "Further paths; !glob leaves out, +path and -path add or remove one."

# One row per line, so that the table is readable.
# fmt: off
# ruff: noqa: E501

_MODELS = group(
    "Models",
    text("defaultProvider", "Default provider", "The provider of new sessions."),
    text("defaultModel", "Default model", "The model of new sessions."),
    choice("defaultThinkingLevel", "Default thinking", "The thinking level of new sessions.", _LEVELS),
    json("modelThinkingLevels", "Thinking by model", 'Thinking levels of single models: {"provider/id": "high"}.'),
    number("thinkingBudgets.minimal", "Budget minimal", "Thinking tokens of the level minimal, where the provider counts them.", 1024),
    number("thinkingBudgets.low", "Budget low", "Thinking tokens of the level low.", 2048),
    number("thinkingBudgets.medium", "Budget medium", "Thinking tokens of the level medium.", 8192),
    number("thinkingBudgets.high", "Budget high", "Thinking tokens of the level high and above.", 16_384),
    *applied(
        "start",
        words("enabledModels", "Scoped models", "Patterns of the models that Ctrl+P cycles through; all when empty."),
    ),
    choice("cacheWarming", "Cache warming", "When the provider's prompt cache is kept warm.", ("streaming", "idle", "off")),
    choice("transport", "Transport", "Protocol of the ChatGPT/Codex provider.", ("auto", "sse", "websocket", "websocket-cached")),
)

_CONVERSATION = group(
    "Conversation",
    choice("steeringMode", "Steering mode", "How many waiting messages a running turn is given at a time.", _QUEUE),
    choice("followUpMode", "Follow-up mode", "How many waiting follow-up messages are sent at a time.", _QUEUE),
    choice("interruptMode", "Interrupt mode", "Whether steering messages wait for running tools or end them.", ("wait", "immediate")),
    choice("doubleEscapeAction", "Double escape", "What pressing Escape twice in an empty editor opens.", ("tree", "fork", "rewind", "none")),
    choice("treeFilterMode", "Tree filter", "The filter that /tree starts with.", ("default", "no-tools", "user-only", "labeled-only", "all")),
    *applied(
        "start",
        text("sessionDir", "Session folder", "Folder for session files, relative to the working directory."),
        switch("blobs.externalizeImages", "Images outside", "Store large images outside of session files, in blobs/.", on=False),
        number("repetition.calls", "Repeated calls", "Identical tool calls in a row, with identical results, before they are refused.", 200, least=1),
        number("repetition.refusals", "Repeat refusals", "Refusals of a repeated call before the run is stopped.", 3),
        switch("repetition.text", "Repeated text", "Interrupt answers that repeat the same text.", on=False),
    ),
    *applied(
        "start",
        *needing(
            ("repetition.text",),
            number("repetition.repeats", "Text repeats", "Repetitions in a row after which an answer is interrupted.", 8, least=2),
            number("repetition.characters", "Repeated length", "Characters that these repetitions must have together.", 1000),
            number("repetition.longest", "Longest repeat", "Longest repeated piece that is looked for, in characters.", 1000, least=1),
            number("repetition.cuts", "Answers cut", "Interrupted answers per prompt before the run is stopped.", 1),
        ),
    ),
)

_COMPACTION = group(
    "Compaction",
    switch("compaction.enabled", "Auto-compact", "Compact automatically before the context window is full.", on=True),
    text("compaction.strategy", "Strategy", "context-full, shake, off, handoff, snapcompact, or a strategy of an extension.", "context-full"),
    number("compaction.reserveTokens", "Reserve", "Tokens of the window kept free for the answer.", 16_384),
    number("compaction.keepRecentTokens", "Keeps", "About how many of the newest tokens stay as they are.", 20_000),
    switch("compaction.adaptiveKeep", "Keeps by count", "Measure the kept part in tokens that the provider counted, not in estimated ones.", on=False),
    number("compaction.reservePercent", "Reserve percent", "Percentage of the window kept free at least, beside the reserve.", 0, most=100),
    number("compaction.thresholdPercent", "Threshold percent", "Percentage of the window at which to compact; -1 uses the reserve.", -1, least=-1, most=100),
    number("compaction.thresholdTokens", "Threshold tokens", "Tokens at which to compact, before all other limits; -1 uses these.", -1, least=-1),
    json("compaction.modelOverrides", "By model", 'Numbers of single models: {"provider/id": {"reserveTokens": 1}}.'),
    words("compaction.fallbackModels", "Fallback models", "Models that are asked for a summary when the session's own model fails."),
    switch("compaction.shortSummary", "Short summary", "Also ask for a sentence that is shown at the divider; one more request.", on=False),
    switch("compaction.fileTree", "File tree", "End summaries with one tree of files, (Read), (Write) or (RW), instead of two lists.", on=False),
    switch("compaction.remoteEnabled", "Remote", "Let a server compact: OpenAI's /responses/compact, or the endpoint.", on=False),
    *needing(
        ("compaction.remoteEnabled",),
        text("compaction.remoteEndpoint", "Remote endpoint", "URL that is sent {systemPrompt, prompt} and answers {summary}."),
    ),
    switch("compaction.autoContinue", "Auto-continue", "Ask the model to continue after an automatic compaction.", on=False),
    switch("compaction.dropUseless", "Drop useless", "Leave out tool results that their tool marked as useless.", on=True),
    choice("handoff.place", "Hand-off", "What happens with a hand-off document: ask, begin a new session, or compact here.", ("ask", "session", "here")),
    choice("snapcompact.shape", "Picture shape", "How text is printed on pictures; auto chooses it for the model.",
           ("auto", "6x12-dim", "6x12-bw", "8x13-bw", "8on16-bw", "doc-8on16-bw", "doc-8on16-sent", "doc-8on16-sent-dim")),
    *applied(
        "reload",
        switch("snapcompact.systemPrompt", "Prompt as pictures", "Send a long system prompt as pictures to models that see them.", on=False),
        switch("snapcompact.toolResults", "Results as pictures", "Send long tool results as pictures to models that see them.", on=False),
        switch("contextPromotion.enabled", "Larger model first", "Switch once to a model with a larger window before a conversation is compacted.", on=False),
    ),
    *needing(
        ("contextPromotion.enabled",),
        json("contextPromotionTarget", "Larger model", 'That model, or models by model: {"provider/small": "provider/large"}.'),
    ),
    switch("compaction.idleEnabled", "When idle", "Also compact while you are away.", on=False),
    *needing(
        ("compaction.idleEnabled",),
        number("compaction.idleThresholdTokens", "Idle threshold", "Tokens from which an idle session is compacted.", 200_000),
        number("compaction.idleTimeoutSeconds", "Idle timeout", "Seconds without a prompt that count as idle.", 300),
    ),
    switch("branchSummary.enabled", "Summarise branches", "Offer a summary of a branch that /tree leaves.", on=True),
    switch("branchSummary.skipPrompt", "Skip summary", "Leave a branch in /tree without asking for a summary.", on=False),
    number("branchSummary.reserveTokens", "Summary reserve", "Tokens of the window kept free for a branch summary.", 16_384),
)

_SCREEN = group(
    "Screen",
    text("theme", "Theme", "Name of a theme, or light/dark for a pair; follows the terminal when empty."),
    switch("hideThinkingBlock", "Hide thinking", "Show that the model thinks, but not its thoughts. Not set: finished thoughts fold to one row.", on=False),
    switch("showCacheMissNotices", "Cache miss notices", "Report answers that could not use the prompt cache.", on=False),
    *applied(
        "start",
        switch("quietStartup", "Quiet start", "Do not list what was loaded at the start.", on=False),
        switch("collapseChangelog", "Short changelog", "Show the changes of a new version in one line.", on=False),
        choice("tuiMode", "Screen mode", "Draw below earlier output, or use the whole screen.", ("regular", "fullscreen")),
        choice("fullscreenExitOutput", "Fullscreen leaves", "What fullscreen mode leaves on the terminal.", ("transcript", "resume-hint")),
        choice("fullscreenScrollbar", "Fullscreen scrollbar", "When fullscreen mode shows a scrollbar.", ("auto", "always", "hidden")),
    ),
    switch("fullscreenCopyOnSelect", "Copy on select", "Copy text that is selected with the mouse in fullscreen mode.", on=True),
    choice("editor.mode", "Editor mode", "Keys of the editor: the usual ones, or those of vim.", ("standard", "vim")),
    switch("editor.attachFiles", "Attach files", "Attach the content of files that a prompt names as @path.", on=False),
    switch("tui.reducedMotion", "Reduced motion", "Show no spinner and nothing else that moves by itself.", on=False),
    number("editorPaddingX", "Editor padding", "Empty columns beside the text of the editor.", 0, most=3),
    number("outputPad", "Output padding", "Empty columns before messages and results.", 1, most=1),
    number("autocompleteMaxVisible", "Suggestions", "Rows of the list of suggestions.", 5, least=3, most=20),
    *applied(
        "start",
        switch("tui.screenReader", "Screen reader", "Write plain lines without redrawing, for screen readers.", on=False),
        switch("showHardwareCursor", "Terminal cursor", "Show the terminal's own cursor in the editor.", on=False),
    ),
    text("markdown.codeBlockIndent", "Code indent", "Text before each line of a code block.", "  "),
    choice("markdown.mermaid", "Mermaid", "Draw mermaid code as diagrams when it is complete; needs the extra diagrams. final and streaming mean the same.", ("streaming", "final", "off")),
    switch("warnings.anthropicExtraUsage", "Extra usage warning", "Warn when Anthropic bills usage beyond the plan.", on=True),
)

_TERMINAL = group(
    "Terminal",
    switch("terminal.showImages", "Show images", "Draw images, where the terminal can.", on=True),
    number("terminal.imageWidthCells", "Image width", "Largest width of an image, in columns.", 60, least=1),
    number("tui.maxInlineImages", "Images on screen", "Images that stay drawn; older ones become their names. 0 draws none.", 20),
    *applied(
        "start",
        choice("terminal.images", "Image protocol", "Protocol for images.", ("auto", "kitty", "iterm2", False)),
        choice("terminal.hyperlinks", "Hyperlinks", "Write links that can be clicked.", _AUTO),
        choice("terminal.trueColor", "True colour", "Use 24-bit colours.", _AUTO),
    ),
    switch("terminal.showTerminalProgress", "Progress in the tab", "Show in the terminal's tab that a run is active.", on=False),
    switch("images.autoResize", "Resize images", "Resize images to the limits of the model.", on=True),
    switch("images.blockImages", "Block images", "Never send images to a model.", on=False),
)

_STATUS = group(
    "Status lines",
    *applied(
        "reload",
        json("tui.statusEngine", "Status lines", "true shows two lines below the footer; an object does so, too, and holds the settings below."),
    ),
    *needing(
        ("tui.statusEngine",),
        switch("tui.statusEngine.enabled", "Shown", "Off hides the lines and keeps their settings.", on=True),
        named(
            words("tui.statusEngine.items", "Items", "What the second line shows, in this order.",
                  "model", "effort", "workspace_name", "git_branch", "git_counts", "sandbox", "approval"),
            "model", "effort", "workspace_name", "git_branch", "git_counts", "sandbox", "approval", "duration",
        ),
        named(
            text("tui.statusEngine.provider", "Provider", "Source of the third line: command, file or builtin."),
            "command", "file", "builtin",
        ),
        text("tui.statusEngine.command", "Command", "Command that prints the third line; it gets JSON on stdin."),
        number("tui.statusEngine.commandTimeoutMs", "Timeout", "Milliseconds that the command may take.", 350, least=50, most=10_000),
        number("tui.statusEngine.refreshMs", "Refresh", "Milliseconds after which the command runs again; 0 waits for events.", 0),
        text("tui.statusEngine.file", "File", "File whose first line is the third line."),
    ),
)

_TOOLS = group(
    "Tools",
    words("defaultTools", "Tools", "Tools that are active in new sessions.", "read", "bash", "edit", "write"),
    text("externalEditor", "External editor", "Command of the editor for Ctrl+G; $VISUAL or $EDITOR when empty."),
    text("shellPath", "Shell", "The shell that runs commands."),
    text("shellCommandPrefix", "Command prefix", "Shell code that runs before every command."),
    text("shell.wrapper", "Command wrapper", "Program, with arguments, that runs every command, such as a sandbox."),
    switch("shell.login", "Login shell", "Read the profile of the shell before every command.", on=False),
    words("shell.env.allow", "Variables allowed", "Variables that commands see although they are withheld by default."),
    words("shell.env.deny", "Variables denied", "Further variables that commands do not see."),
    *applied(
        "reload",
        switch("bash.enabled", "Bash tool", "Give models the bash tool. Your own ! commands always work.", on=True),
        switch("bash.extended", "Extended bash", "Run all commands of the bash tool in one shell, with cwd, env and terminals.", on=False),
        switch("eval.py", "Python kernel", "Give models the python tool, and you $ code in the editor.", on=False),
        switch("eval.js", "JavaScript kernel", "Give models the javascript tool, with Node or Bun.", on=False),
        text("python.toolMode", "Python and bash", "Which of the two tools models get: ipy-only, bash-only or both."),
        choice("python.kernelMode", "Kernel", "Keep the state for the session, or start a new process per call.", ("session", "per-call")),
        text("python.interpreter", "Interpreter", "Path of the kernel's Python; empty searches virtual environments, then PATH."),
        switch("python.sharedGateway", "Shared gateway", "false is rejected: Python kernels have no private Jupyter gateways.", on=True),
        *needing(
            ("bash.extended",),
            switch("bash.session", "Shell session", "Keep folder, variables and functions from one command to the next.", on=True),
            switch("bash.stripTrailingHeadTail", "Strip head and tail", "Remove a trailing pipe to head or tail, so that all output is kept.", on=True),
            switch("bash.minimizer.enabled", "Output minimiser", "Leave out progress lines of commands that succeeded; the original is kept as an artifact.", on=True),
            switch("bash.rcSnapshot", "Aliases and functions", "Let commands use the aliases and functions of your .bashrc.", on=True),
            switch("bashInterceptor.enabled", "Interceptor", "Refuse commands for which there is a better tool.", on=False),
        ),
        *needing(
            ("bash.extended", "bashInterceptor.enabled"),
            json("bashInterceptor.rules", "Interceptor rules", 'Instead of the built-in ones: [{"pattern": "^cat ", "tool": "read", "message": "…"}].'),
        ),
        switch("async.enabled", "Background jobs", "Let the model run commands in the background, and give it the job tool.", on=False),
        *needing(
            ("async.enabled",),
            switch("bash.autoBackground.enabled", "Auto-background", "Move commands that take long into the background.", on=False),
        ),
        *needing(
            ("async.enabled", "bash.autoBackground.enabled"),
            number("bash.autoBackground.thresholdMs", "Background after", "Milliseconds after which a command is moved.", 60_000),
        ),
    ),
    *applied(
        "reload",
        switch("todo.enabled", "Todo list", "Give models the todo tool, and show the list above the editor.", on=False),
    ),
    *applied(
        "reload",
        switch("memories.enabled", "Memory", "Give models the tools remember and recall, and the titles of the notes.", on=False),
    ),
    number("todo.reminders", "Todo reminders", "How often per prompt a model that stops is reminded of open tasks.", 1),
    number("tasks.todoClearDelay", "Closed tasks", "Seconds that closed tasks stay above the editor; -1 keeps them.", 60, least=-1),
    *applied(
        "reload",
        switch("mcp.enabled", "MCP servers", "Use MCP servers of all configuration files, also without an mcp.json of pi.", on=False),
        json("mcp.servers", "MCP definitions", "Servers by name, as in mcp.json. Those of a project's settings are ignored."),
        switch("mcp.enableProjectConfig", "MCP of projects", "Offer the MCP servers of project files, after trust and consent.", on=True),
        text("mcp.clientMetadataUrl", "MCP client document", "Address of an OAuth client metadata document for logins at MCP servers.", ""),
    ),
    switch("mcp.notifications", "MCP notifications", "Inform models when a resource of an MCP server that they have read changes.", on=False),
    number("mcp.notificationDebounceMs", "MCP debounce", "Milliseconds in which changes of lists of an MCP server are collected.", 500),
    number("mcp.maxOutputTokens", "MCP output", "Tokens of one MCP result that reach the model; the rest becomes an artifact.", 25_000, least=1),
    text("collab.relayUrl", "Relay", "Address of the relay of shared sessions. Empty: /collab starts one on this machine.", ""),
    text("collab.displayName", "Name in shared sessions", "How other participants see you. Empty: the name of the user.", ""),
    text("collab.webUrl", "Browser client", "Address of the browser client in links. Empty: the relay.", ""),
    *applied(
        "reload",
        choice("collab.autoStart", "Share automatically", "Share every session: view prints the view-only link, control the full one.", ("off", "view", "control")),
    ),
    *applied(
        "reload",
        switch("lsp.enabled", "Language servers", "Ask language servers: diagnostics after each write, and the lsp tool.", on=False),
        *needing(
            ("lsp.enabled",),
            switch("lsp.lazy", "Lazy start", "Start language servers with the first matching write or query.", on=True),
            switch("lsp.shared", "Shared servers", "Share language servers between sessions and sub-agents.", on=True),
            switch("lsp.diagnosticsOnWrite", "Diagnostics after write", "Report diagnostics of files that write has written.", on=True),
            switch("lsp.diagnosticsOnEdit", "Diagnostics after edit", "Report diagnostics of files that edit has changed.", on=True),
            switch("lsp.formatOnWrite", "Format on write", "Format files with their language server when they are written.", on=False),
            switch("lsp.diagnosticsDeduplicate", "Diagnostics once", "Report what several language servers find at the same place once.", on=True),
            number("lsp.memoryLimitMb", "Server memory", "Megabytes after which a language server is ended; 0 for no limit.", 4096),
        ),
    ),
    *applied("reload", switch("task.enabled", "Sub-agents", "Let models give tasks to sub-agents: task, hub and /agents.", on=False)),
    *needing(
        ("task.enabled",),
        *applied(
            "reload",
            switch("task.batch", "Several tasks", "Let models start several sub-agents in one call.", on=True),
            words("task.disabledAgents", "Agents that are off", "Names of agents that models are not offered."),
            switch("task.isolation.enabled", "Isolated agents", "Let sub-agents work in copies of the project.", on=True),
        ),
        number("task.maxConcurrency", "Agents at once", "Sub-agents that work at the same time; 0 for no limit.", 8),
        number("task.maxRecursionDepth", "Nested tasks", "How deep sub-agents may give tasks to others; -1 for no limit.", 2, least=-1),
        number("task.maxRuntimeMs", "Time of a task", "Milliseconds after which a sub-agent is ended; 0 for no limit.", 0),
        number("task.softRequestBudget", "Requests of a task", "Requests after which a sub-agent is asked to finish; after half as many again it has to.", 200),
        number("task.agentIdleTtlMs", "Idle agents", "Milliseconds that the session of a sub-agent stays open for messages.", 600_000),
        json("task.agentModelOverrides", "Models of agents", 'Models by agent, such as {"scout": "openai/gpt-5-nano", "reviewer": "@slow"}.'),
        choice("task.isolation.merge", "Merging", "How changes of isolated sub-agents come back: patch (into your files) or branch (as commits).", ("patch", "branch")),
        switch("task.isolation.apply", "Merge by itself", "Merge the changes of isolated sub-agents; otherwise they stay on branches.", on=True),
        choice("task.isolation.commits", "Commit messages", "Messages of commits: generic (the task) or ai (written by the model of the role commit).", ("generic", "ai")),
    ),
    choice("isolation.backend", "Working copies", "How copies of the project are made: auto (git worktree, else copy), worktree, copy, or overlay where the kernel allows it.", ("auto", "worktree", "copy", "overlay")),
    *applied(
        "reload",
        switch("rewind.enabled", "Rewind", "Save files before they change, so that /rewind puts them and the conversation back.", on=False),
        *needing(
            ("rewind.enabled",),
            number("rewind.maxFileBytes", "Rewind: file", "Bytes beyond which a file is not saved.", 1024 * 1024),
            number("rewind.maxFiles", "Rewind: files", "Files and folders of a project that are covered.", 20_000),
            number("rewind.maxBytes", "Rewind: project", "Bytes of a project that are covered.", 256 * 1024 * 1024),
            number("rewind.keepDays", "Rewind: days", "Days that the points of a session are kept. Not from a project's settings.", 14),
            number("rewind.storeBytes", "Rewind: store", "Bytes of the saved files of all projects. Not from a project's settings.", 1024 * 1024 * 1024),
        ),
    ),
    *applied(
        "reload",
        choice("edit.variant", "Edit tool", "How models write edits: replace (texts), patch (unified diffs), apply_patch (patches of Codex), hashline (lines addressed by hashes).", ("replace", "patch", "apply_patch", "hashline")),
        switch("imageTool.enabled", "Pictures", "Let models make and edit pictures with an image model that has a key.", on=False),
        switch("astTools.enabled", "Syntax tree tools", "Let models search and replace code by its syntax tree: ast_grep, and ast_edit with a preview.", on=False),
    ),
    *needing(
        ("imageTool.enabled",),
        text("imageTool.provider", "Picture provider", "openai, google or openrouter; auto prefers the provider of the session.", "auto"),
        text("imageTool.model", "Picture model", "Image model, instead of the first one of the provider."),
    ),
    choice("resolve.toolChoice", "Previewed changes", "How a model is made to apply or discard one: auto forces the tool where the provider accepts that, and reminds elsewhere.", ("auto", "force", "remind")),
    *applied(
        "reload",
        switch("richFiles.enabled", "Rich files", "Let read and write open archives, SQLite databases, PDFs, notebooks and merge conflicts.", on=False),
        *needing(
            ("richFiles.enabled",),
            switch("richFiles.generatedGuard", "Generated files", "Refuse to overwrite files that say that they are generated.", on=True),
            switch("richFiles.shebangExecutable", "Executable scripts", "Make new files that begin with #! executable.", on=True),
        ),
    ),
    *applied(
        "reload",
        switch("web_search.enabled", "Web search", "Give models the web_search tool, as soon as a search provider has a key.", on=False),
        switch("web.pages", "Web pages", "Let read open http:// and https:// addresses, pages as Markdown.", on=False),
        switch("browser.enabled", "Browser", "Let models operate an installed Chromium: pages, forms, scripts, screenshots.", on=False),
    ),
    *needing(
        ("web_search.enabled",),
        choice("providers.webSearch", "Search provider", "Search provider that is tried first; auto tries those with a key in their order.", ("auto", *_SEARCH_PROVIDERS)),
        json("webSearchBaseUrls", "Search addresses", 'Other addresses of search providers, such as a gateway: {"brave": "https://…"}.'),
        switch("exa.enabled", "Exa", "Use Exa.", on=True),
        switch("exa.enableSearch", "Exa for searches", "Use Exa for web searches.", on=True),
        text("searxng.endpoint", "SearXNG", "Address of a SearXNG server; otherwise SEARXNG_ENDPOINT."),
        text("searxng.token", "SearXNG token", "Bearer token for it; otherwise SEARXNG_TOKEN."),
        text("searxng.basicUsername", "SearXNG user", "User name for it, instead of a token; otherwise SEARXNG_BASIC_USERNAME."),
        text("searxng.basicPassword", "SearXNG password", "Password of that user; otherwise SEARXNG_BASIC_PASSWORD."),
        text("searxng.categories", "SearXNG categories", "Categories to search, separated by commas."),
        text("searxng.language", "SearXNG language", "Language of the results."),
    ),
    *applied("reload", switch("github.enabled", "GitHub", "Give models the gh tool: issues, pull requests, checks and workflow runs. Writes ask each time.", on=False)),
    *needing(
        ("github.enabled",),
        text("github.apiUrl", "GitHub API", "Address of the API, such as a gateway. Empty: that of github.com, or of GH_HOST.", ""),
    ),
    *applied(
        "reload",
        words("ssh.hosts", "SSH hosts", "Hosts of ~/.ssh/config on which models may run commands, and read and write files."),
    ),
    *needing(
        ("ssh.hosts",),
        text("ssh.configFile", "SSH configuration", "Another file than ~/.ssh/config.", ""),
        number("ssh.connectSeconds", "SSH connection", "Seconds after which connecting is given up.", 15, least=1),
    ),
    words("web.allowHosts", "Allowed hosts", "Hosts that read and browser may open although they are on this machine or in a private network: localhost:3000."),
    switch("web.allowPrivate", "Private networks", "Let read and browser open pages of private networks.", on=False),
    *applied(
        "reload",
        switch("rulebook.enabled", "Rulebook", "Put rules of yours, the project and other agents into the prompt, or offer them as rule://NAME.", on=False),
        *needing(
            ("rulebook.enabled",),
            choice("rulebook.globs", "Globs of rules", "show lists them; enforce sends a rule that always applies when a matching file is read or written.", ("show", "enforce")),
        ),
        switch("ttsr.enabled", "Stream rules", "Interrupt an answer that breaks a rule while it streams, and let the model answer again.", on=False),
        *needing(
            ("ttsr.enabled",),
            choice("ttsr.interruptMode", "Interrupts", "Which matches interrupt; others are sent after the answer or with the result of the tool.", ("always", "prose-only", "tool-only", "never")),
            choice("ttsr.repeatMode", "Repeats", "Whether a rule is sent once in a session, or again after some turns.", ("once", "after-gap")),
            number("ttsr.repeatGap", "Repeat gap", "Turns after which a rule may be sent again.", 10),
            switch("ttsr.builtinRules", "Bundled rules", "Use the ten rules that come with pi.", on=True),
        ),
        words("ttsr.disabledRules", "Disabled rules", "Names of rules that are not used, neither in the prompt nor as stream rules."),
    ),
    *needing(
        ("ttsr.enabled",),
        choice("ttsr.contextMode", "Interrupted answers", "discard leaves them out of the next request; keep sends them back to the model.", ("discard", "keep")),
    ),
    *applied(
        "reload",
        switch("secrets.enabled", "Secrets", "Replace secrets by placeholders in everything that is sent to a model, and restore them in its tool calls.", on=False),
        *needing(
            ("secrets.enabled",),
            switch("secrets.shapes", "Shapes of keys", "Also hide unknown values that look like a key, a token or the password of a URL.", on=True),
        ),
    ),
    *needing(
        ("secrets.enabled",),
        words("secrets.restoreInto", "Restore secrets into", "Tools that get real values although they send them on: web_search, mcp__SERVER__*, or urls for addresses."),
    ),
    choice("permissions.mode", "Permissions", "Which tool calls need your consent: none, all that change something, commands only; read-only refuses changes.", ("off", "ask", "auto-edit", "read-only")),
    words("permissions.allow", "Allowed calls", "Rules for calls that run without a question, as Bash(git status:*) or Edit(src/**)."),
    words("permissions.ask", "Calls that ask", "Rules for calls that always ask; a project may add some."),
    words("permissions.deny", "Denied calls", "Rules for calls that are always refused; a project may add some."),
    *applied(
        "reload",
        switch("sandbox.enabled", "Sandbox", "Let the kernel keep commands from writing outside the project, and from the network.", on=False),
        *needing(
            ("sandbox.enabled",),
            switch("sandbox.network", "Network in the sandbox", "Let sandboxed commands use the network.", on=False),
            words("sandbox.writable", "Writable paths", "Further folders that sandboxed commands may change."),
            words("sandbox.exclude", "Programs outside", "Kinds of programs that run outside of the sandbox.", "user", "extension", "mcp", "lsp", "browser", "matcher", "ssh"),
        ),
        switch("titles.enabled", "Titles", "Name sessions after their first message, with the model of the role tiny.", on=False),
    ),
    *applied(
        "reload",
        switch("advisor.enabled", "Advisor", "Let the model of the role advisor review the work when the agent stops.", on=False),
        switch("ask.enabled", "Questions", "Give models the ask tool: questions to you, with options to choose from.", on=False),
        switch("plan.enabled", "Plan mode", "Offer plan mode: the key Alt+M, and the tool propose_plan from the first request on.", on=False),
    ),
    *needing(
        ("advisor.enabled",),
        number("advisor.maxReviews", "Reviews", "Reviews per prompt.", 2),
        number("advisor.everyTurns", "Reviews between", "Also review after so many turns; 0 reviews at the end only.", 0),
    ),
    *needing(
        ("ask.enabled",),
        number("ask.timeout", "Time for answers", "Seconds that a question waits before the recommended answer counts; 0 waits for ever.", 0),
        switch("ask.notify", "Announce questions", "Notify you of a question while you look at another window.", on=True),
    ),
    switch("plan.defaultOnStartup", "Plan first", "Start new sessions in plan mode.", on=False),
    switch("plan.autosave", "Save plans", "Store approved plans in the project.", on=False),
    *needing(
        ("plan.autosave",),
        text("plan.autosaveDir", "Folder of plans", "Where approved plans are stored.", ".pi/plans"),
    ),
    json("modelRoles", "Models by role", 'Models of roles, such as {"tiny": "openai/gpt-5-nano", "plan": "anthropic/*opus*:high"}.'),
    json("modelTags", "Custom roles", 'What roles of your own are for, such as {"review": "reads changes before a commit"}.'),
    words("cycleOrder", "Order of roles", "Roles that the key for the next model goes through, each with its own thinking level."),
    *needing(
        ("titles.enabled",),
        text("providers.tinyModel", "Model of titles", "Model for titles, if modelRoles has none for the role tiny."),
    ),
    *applied(
        "reload",
        text("auth.broker.url", "Auth broker", "Address of the auth broker that credentials are taken from."),
        text("auth.broker.token", "Auth broker token", "Token for it, or $NAME of a variable."),
    ),
    words("npmCommand", "npm command", "Command that runs npm.", "npm"),
    words("share.command", "Share command", "Command that /share runs with the page's file, instead of gh."),
    text("share.target", "Share target", "Target of an extension that /share uses without a name."),
    choice("share.store", "Share store", "What /share makes: a secret gist, or an encrypted page of a relay.", ("gist", "blob")),
    *applied(
        "reload",
        text("share.serverUrl", "Share server", "Where encrypted pages are stored: https://RELAY/s of a relay."),
    ),
    switch("share.redactSecrets", "Redact shares", "Redact secrets in encrypted pages.", on=True),
    number("share.expireDays", "Days of a share", "Days until the relay removes an encrypted page.", 30, least=1, most=90),
)

_AGENTS = {
    "claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode",
    "cursor": "Cursor", "copilot": "GitHub Copilot", "windsurf": "Windsurf", "cline": "Cline",
}

_RESOURCES = group(
    "Resources",
    choice("defaultProjectTrust", "Project trust", "What happens in folders without a decision about trust.", ("ask", "always", "never")),
    switch("enableSkillCommands", "Skill commands", "Offer skills as /skill:name.", on=True),
    *applied(
        "reload",
        choice("batteries", "Batteries", "Switch the recommended batteries on in one step; /extensions lists all batteries.", ("none", "recommended")),
        json("packages", "Packages", "Sources of packages, or objects with source and filters."),
        json("hooks", "Hooks", 'Hooks by event, as in Claude Code: {"PreToolUse": [{"matcher": "Bash", "hooks": [...]}]}; false runs none.'),
        words("extensions", "Extensions", _PATHS),
        words("skills", "Skills", _PATHS),
        words("prompts", "Prompts", _PATHS),
        words("themes", "Themes", _PATHS),
        words("includeSkills", "Included skills", "Patterns of the names of skills that are used; all when empty."),
        words("ignoredSkills", "Ignored skills", "Patterns of the names of skills that are not used."),
        *(choice(f"sources.{name}", title, f"Files of {title}: ask uses those of trusted projects and asks once about your own; true uses both, false none.", ("ask", True, False)) for name, title in _AGENTS.items()),
        switch("sources.agents", ".agents", "Use .agents folders of trusted projects, and your own.", on=True),
    ),
)

_NETWORK = group(
    "Network",
    *applied(
        "start",
        text("httpProxy", "Proxy", "Proxy for all requests; otherwise the usual variables."),
        json("oauthClients", "Login clients", 'Other OAuth clients: {"anthropic": {"clientId": "…"}}.'),
    ),
    number("httpIdleTimeoutMs", "Idle timeout", "Milliseconds without data that end a request; 0 waits for ever.", 300_000),
    number("websocketConnectTimeoutMs", "Websocket timeout", "Milliseconds to connect a WebSocket; 0 waits for ever.", None),
    switch("retry.enabled", "Retry", "Retry requests that failed for a passing reason.", on=True),
    number("retry.maxRetries", "Retries", "How many times.", 3),
    number("retry.baseDelayMs", "Retry delay", "Milliseconds before the first retry; doubled for each further one.", 2000),
    number("retry.maxAgentDelayMs", "Longest retry delay", "Longer waits, in milliseconds, end the run instead.", 60_000),
    number("retry.provider.timeoutMs", "Request timeout", "Milliseconds without data that end a request; otherwise httpIdleTimeoutMs.", None),
    number("retry.provider.maxRetries", "Request retries", "Retries within one request, before the run notices.", 0),
    number("retry.provider.maxRetryDelayMs", "Longest wait", "Longest wait that a server may ask for, in milliseconds.", 60_000),
)
# fmt: on

SETTINGS: tuple[Setting, ...] = (
    *_MODELS,
    *_CONVERSATION,
    *_COMPACTION,
    *_SCREEN,
    *_TERMINAL,
    *_STATUS,
    *_TOOLS,
    *_RESOURCES,
    *_NETWORK,
)

WRITTEN_BY_PI = {"lastChangelogVersion": "The last version whose changes were shown."}
"""Values in the file that users need not change."""

WITHOUT_EFFECT = {
    "enableInstallTelemetry": "pi sends no telemetry",
    "enableAnalytics": "pi sends no telemetry",
    "trackingId": "pi sends no telemetry",
    "terminal.clearOnShrink": "rows that are no longer used are always cleared",
}
"""Settings of the original without effect here, and why; they stay in the file."""
