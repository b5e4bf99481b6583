"""Table of all settings in ``settings.json``.

``/settings``, ``pi doctor``, the guide and ``docs/reference/settings.md`` are made from these rows.
Tests compare names and defaults with the records that the program reads. Not loaded at the start of
a session.
"""

from __future__ import annotations

from pi.ai.models.model import THINKING_LEVELS
from pi.coding.settings.setting import (
    Setting,
    applied,
    choice,
    group,
    json,
    named,
    needing,
    number,
    switch,
    text,
    words,
)
from pi.coding.settings.tool_table import TOOLS

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
    text("compaction.strategy", "Strategy", "How a conversation is compacted: context-full, shake, off, handoff, snapcompact, or a strategy of an extension.", "context-full"),
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
    *TOOLS,
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
