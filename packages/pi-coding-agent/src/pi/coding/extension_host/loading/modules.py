"""Imports extensions: modules with unique names, import roots of packages, tool-only files."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias
from zlib import crc32

from pi.agent.tools.tool import AgentTool
from pi.base.files import MAX_READ_BYTES
from pi.base.records import replace
from pi.base.tasks import maybe_await
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.discovery.finding import IMPORT_ROOTS, Candidate, Factory
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.packages.contents import modules_in
from pi.coding.tools.registry import DEFAULT_TOOLS, READ_ONLY_TOOLS

PREFIX = "pi_extension_"
ENTRY = "extension"


def factory_of(candidate: Candidate) -> Factory:
    """The function of an extension; its module is imported if necessary.

    A file without it may define tools instead. Exceptions of the import propagate. Raises
    ``ExtensionError`` if it has neither.
    """
    if candidate.factory is not None:
        return candidate.factory
    name, _, function = candidate.target.partition(":")
    if candidate.path is None:
        module = importlib.import_module(name)
    else:
        module = module_at(candidate.path, candidate.import_root)
    factory: Factory | None = getattr(module, function or ENTRY, None)
    if callable(factory):
        return factory
    if candidate.path is not None and not function and _defines_tools(module):
        return partial(_register, candidate.path, candidate.import_root, {})
    raise ExtensionError(
        f"{candidate.identifier} has no function {function or ENTRY}(pi).",
        hint="Write `def extension(pi): ...` in it.",
    )


def forget_modules(candidate: Candidate) -> None:
    """Forget the modules of an extension file, so that the next load imports them again."""
    if candidate.path is not None:
        _drop(module_of(candidate))
        importlib.invalidate_caches()


def module_of(candidate: Candidate) -> str:
    """The module name of an extension, which is the prefix of its submodules."""
    path, root = candidate.path, candidate.import_root
    if path is None:
        module, _, _ = candidate.target.partition(":")
        return module or getattr(candidate.factory, "__module__", "")
    if root is not None and path.is_relative_to(root):
        return _dotted_name(path, root).partition(".")[0]
    return module_name(path)


def module_at(path: Path, import_root: Path | None = None) -> ModuleType:
    """The module of a file or folder, imported if necessary.

    With ``import_root``, the module and its dependencies are imported from that folder; pi's own
    modules take precedence.
    """
    _must_be_small(path / "__init__.py" if path.is_dir() else path)
    if import_root is None:
        return _import_module(path)

    add_import_root(import_root)
    if not path.is_relative_to(import_root):
        return _import_module(path)
    module = importlib.import_module(_dotted_name(path, import_root))
    if not Path(module.__file__ or "").is_relative_to(import_root):
        raise ExtensionError(
            f"{path} cannot be imported: {module.__name__} is {module.__file__}.",
            hint="Two packages have modules of one name; remove one of the packages.",
        )
    return module


def _must_be_small(file: Path) -> None:
    """Raise ``ExtensionError`` for a huge file: Python would read and compile all of it."""
    if file.exists() and file.stat().st_size > MAX_READ_BYTES:
        raise ExtensionError(
            f"{file} is larger than {MAX_READ_BYTES >> 20} MiB, too large for a source file."
        )


def module_name(path: Path) -> str:
    """A module name that is unique for the path."""
    number = crc32(str(path.resolve()).encode("utf-8", "surrogateescape"))
    stem = "".join(letter if letter.isalnum() else "_" for letter in path.stem)
    return f"{PREFIX}{stem}_{number:08x}"


def _dotted_name(path: Path, root: Path) -> str:
    """The dotted module name of a path below ``root``."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def _import_module(path: Path) -> ModuleType:
    name = module_name(path)
    if (loaded := sys.modules.get(name)) is not None:
        return loaded
    file, inside = (path / "__init__.py", [str(path)]) if path.is_dir() else (path, None)
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise ExtensionError(f"{path} is not a Python file.", hint="Its name must end with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if spec.cached and not sys.dont_write_bytecode:
        # Python would create the folder with the umask, but a folder that others can write to
        # allows them to inject code.
        with suppress(OSError):
            Path(spec.cached).parent.mkdir(mode=0o700, exist_ok=True)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _drop(name)
        raise
    return module


def _drop(name: str) -> None:
    for loaded_name in [*sys.modules]:
        if loaded_name == name or loaded_name.startswith(f"{name}."):
            del sys.modules[loaded_name]


NOT_IMPORTED = frozenset({"docs", "examples", "scripts", "test", "tests"})
"""Folders that distributions install beside their modules by mistake; they are never imported."""


def add_import_root(root: Path) -> None:
    """Append ``root`` to ``sys.path``, after the folders of pi's own modules.

    A process can have only one version of a module. Raises ``ExtensionError`` if a package in
    ``root`` has another version than a package that is in use.
    """
    if str(root) in sys.path:
        return
    others = [folder for folder in sys.path if folder in IMPORT_ROOTS]
    for name, distribution in modules_in(root).items() if others else ():
        spec = None if name in NOT_IMPORTED else PathFinder.find_spec(name, others)
        if spec is None or spec.origin is None:  # missing, or a namespace package
            continue
        if distribution != _distribution(name, Path(spec.origin)):
            raise ExtensionError(
                f"It needs the module {name} of {distribution}, but another version is in use:"
                f" {spec.origin}.",
                hint="Packages that need different versions cannot be used together.",
            )
    sys.path.append(str(root))
    IMPORT_ROOTS.add(str(root))


def _distribution(name: str, origin: Path) -> str:
    """The distribution that a module of another package belongs to."""
    root = next(folder for folder in map(Path, IMPORT_ROOTS) if origin.is_relative_to(folder))
    return modules_in(root).get(name, "")


FACTORY = "tools"
BUILT_IN = frozenset((*DEFAULT_TOOLS, *READ_ONLY_TOOLS))


ToolFiles: TypeAlias = dict[str, Path]
"""Tool names with their files."""


def tool_file_extension(candidate: Candidate, tool_files: ToolFiles) -> Candidate:
    """An extension that registers the tools of the file or folder of ``candidate``.

    The file has ``def tools(pi)``, which returns one or more tools, or functions decorated with
    ``@tool``. Candidates that share ``tool_files`` must not use the same names.
    """
    assert candidate.path is not None
    root = candidate.import_root
    return replace(candidate, factory=partial(_register, candidate.path, root, tool_files))


async def _register(path: Path, root: Path | None, tool_files: ToolFiles, pi: ExtensionAPI) -> None:
    """Register the tools of a file. Raises ``ExtensionError`` if it has none or a name is taken."""
    module = module_at(path, root)
    if (factory := getattr(module, FACTORY, None)) is not None:
        tools = _as_list(await maybe_await(factory(pi)))
    else:
        tools = _decorated_tools(module)
    if not tools:
        raise ExtensionError(
            f"{path} defines no tool.", hint="Write `def tools(pi): ...`, or a function with @tool."
        )
    for tool in tools:
        _must_be_free(tool, path, tool_files)
    for tool in tools:
        pi.register_tool(tool)
        tool_files[tool.name] = path


def _defines_tools(module: ModuleType) -> bool:
    """Whether a module has the form of a file of tools."""
    return callable(getattr(module, FACTORY, None)) or bool(_decorated_tools(module))


def _decorated_tools(module: ModuleType) -> list[AgentTool]:
    """The functions of a module that are decorated with ``@tool``."""
    return [value for value in vars(module).values() if isinstance(value, AgentTool)]


def _as_list(result: Any) -> list[Any]:
    is_list = isinstance(result, Iterable) and not isinstance(result, Mapping)
    return list(result) if is_list else [result]


def _must_be_free(tool: Any, path: Path, tool_files: ToolFiles) -> None:
    """Raise ``ExtensionError`` if the name is taken: tool files must not replace tools."""
    name = getattr(tool, "name", "")
    if tool_files.get(name, path) != path:
        raise ExtensionError(
            f"The tool {name} of {path} has the name of one in {tool_files[name]}.",
            hint="Rename one of them.",
        )
    if name in BUILT_IN:
        raise ExtensionError(
            f"The tool {name} of {path} has the name of a built-in tool.",
            hint="Rename it, or replace the built-in tool with an extension.",
        )
