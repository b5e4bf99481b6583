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
        return self.name in GLOBAL_ONLY or self.name in FOR_THE_FIRST_FRAME

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
    choice("doubleEscapeAction", "Double escape", "What pressing Escape twice in an empty editor opens.", ("tree", "fork", "none")),
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
    text("compaction.strategy", "Strategy", "context-full, shake, off, or a strategy of an extension.", "context-full"),
    number("compaction.reserveTokens", "Reserve", "Tokens of the window kept free for the answer.", 16_384),
    number("compaction.keepRecentTokens", "Keeps", "About how many of the newest tokens stay as they are.", 20_000),
    number("compaction.thresholdPercent", "Threshold percent", "Percentage of the window at which to compact; -1 uses the reserve.", -1, least=-1, most=100),
    number("compaction.thresholdTokens", "Threshold tokens", "Tokens at which to compact, before all other limits; -1 uses these.", -1, least=-1),
    json("compaction.modelOverrides", "By model", 'Numbers of single models: {"provider/id": {"reserveTokens": 1}}.'),
    words("compaction.fallbackModels", "Fallback models", "Models that are asked for a summary when the session's own model fails."),
    switch("compaction.autoContinue", "Auto-continue", "Ask the model to continue after an automatic compaction.", on=False),
    switch("compaction.dropUseless", "Drop useless", "Leave out tool results that their tool marked as useless.", on=True),
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
        switch("eval.py", "Python kernel", "Give models the python tool, and you $ code in the editor.", on=False),
        text("python.toolMode", "Python and bash", "Which of the two tools models get: ipy-only, bash-only or both."),
        choice("python.kernelMode", "Kernel", "Keep the state for the session, or start a new process per call.", ("session", "per-call")),
        text("python.interpreter", "Interpreter", "Path of the kernel's Python; empty searches the virtual environment, then PATH."),
        switch("bash.extended", "Extended bash", "Give the bash tool cwd, env, pty and background jobs.", on=False),
        *needing(
            ("bash.extended",),
            switch("bash.stripTrailingHeadTail", "Strip head and tail", "Remove a trailing pipe to head or tail, so that all output is kept.", on=True),
            switch("bashInterceptor.enabled", "Interceptor", "Refuse commands for which there is a better tool.", on=False),
            switch("async.enabled", "Background jobs", "Let the model run commands in the background.", on=False),
        ),
        *needing(
            ("bash.extended", "bashInterceptor.enabled"),
            json("bashInterceptor.rules", "Interceptor rules", 'Instead of the built-in ones: [{"pattern": "^cat ", "tool": "read", "message": "…"}].'),
        ),
        *needing(
            ("bash.extended", "async.enabled"),
            switch("bash.autoBackground.enabled", "Auto-background", "Move commands that take long into the background.", on=False),
        ),
        *needing(
            ("bash.extended", "async.enabled", "bash.autoBackground.enabled"),
            number("bash.autoBackground.thresholdMs", "Background after", "Milliseconds after which a command is moved.", 60_000),
        ),
    ),
    words("npmCommand", "npm command", "Command that runs npm.", "npm"),
    words("share.command", "Share command", "Command that /share runs with the page's file, instead of gh."),
)

_RESOURCES = group(
    "Resources",
    choice("defaultProjectTrust", "Project trust", "What happens in folders without a decision about trust.", ("ask", "always", "never")),
    switch("enableSkillCommands", "Skill commands", "Offer skills as /skill:name.", on=True),
    *applied(
        "reload",
        json("packages", "Packages", "Sources of packages, or objects with source and filters."),
        words("extensions", "Extensions", _PATHS),
        words("skills", "Skills", _PATHS),
        words("prompts", "Prompts", _PATHS),
        words("themes", "Themes", _PATHS),
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
    "markdown.mermaid": "diagrams are shown as their source",
}
"""Settings of the original without effect here, and why; they stay in the file."""
