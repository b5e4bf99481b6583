"""Every setting that a person may change, as data. The dialog reads these rows, and so may docs.

What pi writes for itself (``lastChangelogVersion``, ``trackingId``) is not among them.
"""

from __future__ import annotations

from pi.ai.models.model import THINKING_LEVELS
from pi.modes.interactive.dialogs.settings.setting import (
    Setting,
    choice,
    group,
    json,
    number,
    switch,
    text,
    words,
)

_LEVELS = ("medium", *(level for level in THINKING_LEVELS if level != "medium"))
_QUEUE = ("one-at-a-time", "all")
_AUTO = ("auto", True, False)
_PATHS = "Paths, !glob, +path, -path."

# One row is one line, so that the table can be read.
# fmt: off

_MODELS = group(
    "Models",
    text("defaultProvider", "Default provider", "Who answers in new sessions."),
    text("defaultModel", "Default model", "The model of new sessions."),
    choice("defaultThinkingLevel", "Default thinking", "How much it thinks at first.", _LEVELS),
    json("modelThinkingLevels", "Thinking by model", 'For single ones: {"provider/id": "high"}.'),
    number("thinkingBudgets.minimal", "Budget minimal", "Tokens to think.", 1024),
    number("thinkingBudgets.low", "Budget low", "Tokens to think.", 2048),
    number("thinkingBudgets.medium", "Budget medium", "Tokens to think.", 8192),
    number("thinkingBudgets.high", "Budget high", "Tokens to think.", 16_384),
    words("enabledModels", "Scoped models", "Patterns of those to cycle through; none means all."),
    choice("cacheWarming", "Cache warming", "When the provider's cache is kept warm.",
           ("streaming", "idle", "off")),
    choice("transport", "Transport", "How answers come, where there is a choice.",
           ("auto", "sse", "websocket", "websocket-cached")),
)

_CONVERSATION = group(
    "Conversation",
    choice("steeringMode", "Steering mode", "How messages for this turn are delivered.", _QUEUE),
    choice("followUpMode", "Follow-up mode", "How messages for later are delivered.", _QUEUE),
    choice("interruptMode", "Interrupt mode", "Whether steering waits for running tools.",
           ("wait", "immediate")),
    choice("doubleEscapeAction", "Double escape", "What two Escapes on an empty prompt do.",
           ("tree", "fork", "none")),
    choice("treeFilterMode", "Tree filter", "What the session tree lists at first.",
           ("default", "no-tools", "user-only", "labeled-only", "all")),
    switch("branchSummary.skipPrompt", "Skip summary", "Leave branches unasked.", on=False),
    number("branchSummary.reserveTokens", "Summary reserve", "Tokens kept free for it.", 16_384),
    switch("compaction.enabled", "Auto-compact", "Shorten before the window is full.", on=True),
    number("compaction.reserveTokens", "Compact reserve", "Tokens kept free.", 16_384),
    number("compaction.keepRecentTokens", "Compaction keeps", "Newest tokens that stay.", 20_000),
    json("compaction.modelOverrides", "Compact by model",
         'Other numbers: {"provider/id": {"reserveTokens": 1}}.'),
    text("sessionDir", "Session folder", "Where sessions are kept instead."),
)

_SCREEN = group(
    "Screen",
    text("theme", "Theme", "A name, or light/dark for one of each; none follows the terminal."),
    switch("hideThinkingBlock", "Hide thinking", "Show only that it thought.", on=False),
    switch("showCacheMissNotices", "Cache miss notices", "Tell when the cache was of no use.",
           on=False),
    switch("quietStartup", "Quiet start", "Start without notices.", on=False),
    switch("collapseChangelog", "Short changelog", "Tell changes in one line.", on=False),
    choice("tuiMode", "Screen mode", "Below other output, or alone; from the next start on.",
           ("regular", "fullscreen")),
    choice("fullscreenExitOutput", "Fullscreen leaves", "What is left on the terminal.",
           ("transcript", "resume-hint")),
    choice("fullscreenScrollbar", "Fullscreen scrollbar", "When it is shown.",
           ("auto", "always", "hidden")),
    switch("fullscreenCopyOnSelect", "Copy on select", "Copy what the mouse marks.", on=True),
    number("editorPaddingX", "Editor padding", "Columns at its sides.", 0, most=3),
    number("outputPad", "Output padding", "Columns before output.", 1, most=1),
    number("autocompleteMaxVisible", "Suggestions", "Rows that are shown.", 5, least=3, most=20),
    switch("showHardwareCursor", "Terminal cursor", "Show the terminal's own.", on=False),
    choice("markdown.mermaid", "Diagrams", "For the original; here mermaid stays source text.",
           ("streaming", "final", "off")),
    text("markdown.codeBlockIndent", "Code indent", "What stands before lines of code."),
    switch("warnings.anthropicExtraUsage", "Extra usage warning",
           "Warn before Anthropic bills beyond the plan.", on=True),
)

_TERMINAL = group(
    "Terminal",
    switch("terminal.showImages", "Show images", "Draw pictures.", on=True),
    number("terminal.imageWidthCells", "Image width", "Columns that one may take.", 60, least=1),
    choice("terminal.images", "Image protocol", "How pictures are drawn.",
           ("auto", "kitty", "iterm2", False)),
    choice("terminal.hyperlinks", "Hyperlinks", "Whether links can be clicked.", _AUTO),
    choice("terminal.trueColor", "True colour", "Whether there are millions of them.", _AUTO),
    switch("terminal.clearOnShrink", "Clear on shrink", "Clear rows no longer used.", on=False),
    switch("terminal.showTerminalProgress", "Progress in the tab", "Show work there.", on=False),
    switch("images.autoResize", "Resize images", "Make large ones fit.", on=True),
    switch("images.blockImages", "Block images", "Send no pictures at all.", on=False),
)

_TOOLS = group(
    "Tools",
    words("defaultTools", "Tools", "Tools that are on at first."),
    text("externalEditor", "External editor", "Command; without one $VISUAL or $EDITOR."),
    text("shellPath", "Shell", "The shell that runs commands."),
    text("shellCommandPrefix", "Command prefix", "What comes before every command."),
    words("npmCommand", "npm command", "How npm is called."),
    words("share.command", "Share command", "Called with the page's file."),
)

_RESOURCES = group(
    "Resources",
    choice("defaultProjectTrust", "Project trust", "For folders nothing was decided about.",
           ("ask", "always", "never")),
    switch("enableSkillCommands", "Skill commands", "Offer skills behind the slash.", on=True),
    json("packages", "Packages", "Sources of packages."),
    words("extensions", "Extensions", _PATHS),
    words("skills", "Skills", _PATHS),
    words("prompts", "Prompts", _PATHS),
    words("themes", "Themes", _PATHS),
)

_NETWORK = group(
    "Network",
    text("httpProxy", "Proxy", "For all requests."),
    json("oauthClients", "Login clients", 'Other ones: {"anthropic": {"clientId": "…"}}.'),
    number("httpIdleTimeoutMs", "Idle timeout", "Milliseconds; 0 waits for ever.", 300_000),
    number("websocketConnectTimeoutMs", "Websocket timeout", "Milliseconds; 0: for ever.", None),
    switch("retry.enabled", "Retry", "Ask again when an answer failed.", on=True),
    number("retry.maxRetries", "Retries", "How often.", 3),
    number("retry.baseDelayMs", "Retry delay", "Milliseconds before the first.", 2000),
    number("retry.maxAgentDelayMs", "Longest retry delay", "In milliseconds.", 60_000),
    number("retry.provider.timeoutMs", "Request timeout", "Milliseconds; else the idle one.", None),
    number("retry.provider.maxRetries", "Request retries", "Within a request.", 0),
    number("retry.provider.maxRetryDelayMs", "Longest wait",
           "Milliseconds that a server may make us wait.", 60_000),
    switch("enableInstallTelemetry", "Install telemetry", "Count this installation.", on=False),
    switch("enableAnalytics", "Analytics", "Tell how pi is used.", on=False),
)
# fmt: on

SETTINGS: tuple[Setting, ...] = (
    *_MODELS,
    *_CONVERSATION,
    *_SCREEN,
    *_TERMINAL,
    *_TOOLS,
    *_RESOURCES,
    *_NETWORK,
)
