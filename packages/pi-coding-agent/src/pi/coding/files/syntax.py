"""Languages whose syntax trees can be searched (``ast-grep-py``), by the names of files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import PurePath

SYNTAX_LANGUAGES = {
    language: suffixes.split()
    for language, suffixes in {
        "bash": ".sh .bash .zsh",
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .hh .hpp .hxx",
        "csharp": ".cs",
        "css": ".css",
        "elixir": ".ex .exs",
        "go": ".go",
        "haskell": ".hs",
        "hcl": ".hcl .tf",
        "html": ".htm .html",
        "java": ".java",
        "javascript": ".cjs .js .jsx .mjs",
        "json": ".json",
        "kotlin": ".kt .kts",
        "lua": ".lua",
        "nix": ".nix",
        "php": ".php",
        "python": ".py .pyi",
        "ruby": ".rb",
        "rust": ".rs",
        "scala": ".sbt .scala",
        "solidity": ".sol",
        "swift": ".swift",
        "tsx": ".tsx",
        "typescript": ".cts .mts .ts",
        "yaml": ".yaml .yml",
    }.items()
}
"""Languages that the parser supports, with their suffixes. It panics for other languages."""
_LANGUAGE_OF = {suffix: name for name, suffixes in SYNTAX_LANGUAGES.items() for suffix in suffixes}


def syntax_language(path: str) -> str:
    """The language of a file by its suffix; empty if it cannot be parsed."""
    return _LANGUAGE_OF.get(PurePath(path).suffix.lower(), "")


def can_parse_syntax() -> bool:
    """Whether the library for syntax trees is installed (the extra ``rules``)."""
    return find_spec("ast_grep_py") is not None
