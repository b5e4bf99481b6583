"""The general settings of ``settings.json`` with their defaults.

Objects such as ``compaction`` or ``retry`` are declared by the code that they configure.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from pi.ai.messages import Json
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.records import Record

GLOBAL_ONLY = frozenset(
    {
        "auth",
        "cacheWarming",
        "catalog",
        "collab",
        "commit",
        "defaultProjectTrust",
        "files",
        "github",
        "httpProxy",
        "oauthClients",
        "permissions",
        "sandbox",
        "searxng",
        "secrets",
        "ssh",
        "webSearchBaseUrls",
    }
)
"""Settings, and groups of them, that a project cannot change.

Some protect the user from a project. Those of searches, GitHub and the auth broker determine where
keys are sent, those of ssh which machines may be used.
"""

QueueMode: TypeAlias = Literal["all", "one-at-a-time"]
InterruptMode: TypeAlias = Literal["wait", "immediate"]


Milliseconds: TypeAlias = Annotated[int, Meta(ge=0)] | Literal["disabled"]
"""A time limit; 0 and ``disabled`` are no limit."""


class ThinkingBudgets(Record):
    """Thinking tokens per level, for models that count them."""

    minimal: int = 1024
    low: int = 2048
    medium: int = 8192
    high: int = 16_384


class TerminalValues(Record):
    """Terminal features."""

    show_images: bool = True
    image_width_cells: Annotated[int, Meta(ge=1)] = 60
    show_terminal_progress: bool = False
    hyperlinks: bool | Literal["auto"] = "auto"
    true_color: bool | Literal["auto"] = "auto"
    images: Literal["kitty", "iterm2", "auto", False] = "auto"


class CatalogValues(Record):
    """Updates of the model catalog."""

    refresh: bool = True
    """Whether they are looked for in the background, at most once a day."""
    sources: tuple[str, ...] = ("providers", "models.dev", "openrouter")
    """Files, URLs and names of lists; the first that states something counts."""


class ImageValues(Record):
    """Processing of images before they are sent to a model."""

    auto_resize: bool = True
    block_images: bool = False


class MarkdownValues(Record):
    """Rendering of responses."""

    code_block_indent: str = "  "
    mermaid: Literal["streaming", "final", "off"] = "streaming"
    """``streaming`` and ``final`` both draw mermaid code once it is complete; ``off`` never."""


class TuiValues(Record):
    """Limits of the screen."""

    max_inline_images: Annotated[int, Meta(ge=0)] = 20
    """Maximum images that stay drawn; older ones are shown as their names."""
    reduced_motion: bool = False
    """Whether there are no animations, such as the spinner."""
    screen_reader: bool = False
    """Whether the screen is written as plain lines."""


class EditorValues(Record):
    """The prompt editor."""

    mode: Literal["standard", "vim"] = "standard"
    attach_files: bool = False
    """Whether ``@path`` of an existing file attaches its content."""


class WarningValues(Record):
    """Warnings that can be disabled."""

    anthropic_extra_usage: bool = True


SourceSwitch: TypeAlias = bool | Literal["ask"]


class SourceValues(Record):
    """Use of the files of other agents: on, off, or ``ask``.

    ``ask`` uses those of trusted projects, and asks the user about those in the home directory.
    """

    claude: SourceSwitch = "ask"
    codex: SourceSwitch = "ask"
    agents: bool = True
    gemini: SourceSwitch = "ask"
    opencode: SourceSwitch = "ask"
    cursor: SourceSwitch = "ask"
    copilot: SourceSwitch = "ask"
    windsurf: SourceSwitch = "ask"
    cline: SourceSwitch = "ask"


class Values(Record):
    """The general settings, with the names and defaults of the file."""

    default_provider: str | None = None
    default_model: str | None = None
    default_thinking_level: ThinkingLevel = "medium"
    model_thinking_levels: dict[str, ThinkingLevel] = field(default_factory=dict)
    thinking_budgets: ThinkingBudgets = ThinkingBudgets()
    enabled_models: tuple[str, ...] | None = None
    hide_thinking_block: bool = False
    show_cache_miss_notices: bool = False
    catalog: CatalogValues = CatalogValues()
    cache_warming: Literal["off", "streaming", "idle"] = "streaming"
    steering_mode: QueueMode = "one-at-a-time"
    follow_up_mode: QueueMode = "one-at-a-time"
    interrupt_mode: InterruptMode = "wait"
    external_editor: str | None = None
    double_escape_action: Literal["tree", "fork", "rewind", "none"] = "tree"
    tree_filter_mode: Literal["default", "no-tools", "user-only", "labeled-only", "all"] = "default"
    default_project_trust: Literal["ask", "always", "never"] = "ask"
    default_tools: tuple[str, ...] = ("read", "bash", "edit", "write")
    session_dir: str | None = None
    theme: str | None = None
    quiet_startup: bool | Literal["header"] = False
    tui_mode: Literal["regular", "fullscreen"] = "regular"
    fullscreen_exit_output: Literal["transcript", "resume-hint"] = "transcript"
    fullscreen_scrollbar: Literal["auto", "always", "hidden"] = "auto"
    fullscreen_copy_on_select: bool = True
    editor_padding_x: Annotated[int, Meta(ge=0, le=3)] = 0
    output_pad: Literal[0, 1] = 1
    autocomplete_max_visible: Annotated[int, Meta(ge=3, le=20)] = 5
    show_hardware_cursor: bool = False
    terminal: TerminalValues = TerminalValues()
    tui: TuiValues = TuiValues()
    editor: EditorValues = EditorValues()
    images: ImageValues = ImageValues()
    markdown: MarkdownValues = MarkdownValues()
    transport: Literal["auto", "sse", "websocket", "websocket-cached"] = "auto"
    http_proxy: str | None = None
    oauth_clients: dict[str, Json] = field(default_factory=dict)
    http_idle_timeout_ms: Milliseconds = 300_000
    websocket_connect_timeout_ms: Milliseconds | None = None
    shell_path: str | None = None
    shell_command_prefix: str = ""
    npm_command: tuple[str, ...] = ("npm",)
    packages: tuple[str | Json, ...] = ()
    extensions: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    include_skills: tuple[str, ...] = ()
    ignored_skills: tuple[str, ...] = ()
    sources: SourceValues = SourceValues()
    batteries: Literal["none", "recommended"] = "none"
    enable_skill_commands: bool = True
    collapse_changelog: bool = False
    warnings: WarningValues = WarningValues()
    last_changelog_version: str | None = None
