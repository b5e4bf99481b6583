"""Importing extensions: each under a name of its own, once per process."""

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
    """The function of an extension; its module is imported if it is not yet.

    Whatever importing raises is raised, and nothing of it is left behind.
    """
    if candidate.factory is not None:
        return candidate.factory
    name, _, function = candidate.target.partition(":")
    if candidate.path is None:
        module = importlib.import_module(name)
    else:
        module = module_at(candidate.path, candidate.import_root)
    factory: Factory | None = getattr(module, function or ENTRY, None)
    if not callable(factory):
        raise ExtensionError(
            f"{candidate.where} has no function {function or ENTRY}(pi).",
            hint="Write `def extension(pi): ...` in it.",
        )
    return factory


def forget_modules(candidate: Candidate) -> None:
    """Have an extension imported anew the next time; those that are in use stay as they are."""
    if candidate.path is not None:
        _drop(module_of(candidate))
        importlib.invalidate_caches()


def module_of(candidate: Candidate) -> str:
    """What the module of an extension is called; those inside it begin so, too."""
    path, root = candidate.path, candidate.import_root
    if path is None:
        module, _, _ = candidate.target.partition(":")
        return module or getattr(candidate.factory, "__module__", "")
    if root is not None and path.is_relative_to(root):
        return _dotted(path, root).partition(".")[0]
    return module_name(path)


def module_at(path: Path, import_root: Path | None = None) -> ModuleType:
    """The module of a file or folder, imported if it is not yet.

    With ``import_root``, it and what it needs is imported from there, after all that pi has itself.
    """
    _must_be_small(path / "__init__.py" if path.is_dir() else path)
    if import_root is None:
        return _module(path)

    add_import_root(import_root)
    if not path.is_relative_to(import_root):
        return _module(path)
    module = importlib.import_module(_dotted(path, import_root))
    if not Path(module.__file__ or "").is_relative_to(import_root):
        raise ExtensionError(
            f"{path} cannot be imported: {module.__name__} is {module.__file__}.",
            hint="Two packages have modules of one name; remove one of the packages.",
        )
    return module


def _must_be_small(file: Path) -> None:
    """Refuse a source that nobody has written: Python would read and compile the whole of it."""
    if file.exists() and file.stat().st_size > MAX_READ_BYTES:
        raise ExtensionError(f"{file} is larger than {MAX_READ_BYTES >> 20} MiB, which is not a source.")


def module_name(path: Path) -> str:
    """A name that no other extension has."""
    number = crc32(str(path.resolve()).encode("utf-8", "surrogateescape"))
    stem = "".join(letter if letter.isalnum() else "_" for letter in path.stem)
    return f"{PREFIX}{stem}_{number:08x}"


def _dotted(path: Path, root: Path) -> str:
    """The name of a module below a folder that is imported from."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def _module(path: Path) -> ModuleType:
    name = module_name(path)
    if (known := sys.modules.get(name)) is not None:
        return known
    file, inside = (path / "__init__.py", [str(path)]) if path.is_dir() else (path, None)
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise ExtensionError(f"{path} is no Python file.", hint="Its name must end with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if spec.cached and not sys.dont_write_bytecode:
        # Python would make the folder by the umask, and whoever may write there is imported.
        with suppress(OSError):
            Path(spec.cached).parent.mkdir(mode=0o700, exist_ok=True)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _drop(name)
        raise
    return module


def _drop(name: str) -> None:
    for known in [*sys.modules]:
        if known == name or known.startswith(f"{name}."):
            del sys.modules[known]


# Folders of packages that Python imports from, and what keeps one from breaking another.


NOT_IMPORTED = frozenset({"docs", "examples", "scripts", "test", "tests"})
"""What distributions leave beside their modules by mistake, and nobody imports."""


def add_import_root(root: Path) -> None:
    """Have Python import from ``root``, after everything else: no package can break pi.

    One process has one version of a module. ``ExtensionError`` if the package in ``root`` brings
    another one than a package that is in use already.
    """
    if str(root) in sys.path:
        return
    others = [each for each in sys.path if each in IMPORT_ROOTS]
    for name, distribution in modules_in(root).items() if others else ():
        spec = None if name in NOT_IMPORTED else PathFinder.find_spec(name, others)
        if spec is None or spec.origin is None:  # not there, or a folder that many share
            continue
        if distribution != _distribution(name, Path(spec.origin)):
            raise ExtensionError(
                f"It needs the module {name} of {distribution}, and another one is in use:"
                f" {spec.origin}.",
                hint="Of packages that need different versions, only one can be used at a time.",
            )
    sys.path.append(str(root))
    IMPORT_ROOTS.add(str(root))


def _distribution(name: str, origin: Path) -> str:
    """What a module of another package belongs to."""
    root = next(each for each in map(Path, IMPORT_ROOTS) if origin.is_relative_to(each))
    return modules_in(root).get(name, "")


# Files that bring nothing but tools: ``tools/*.py``.
#
# Such a file has ``def tools(pi)``, which gives a tool or several of them, or just functions that
# ``@tool`` makes tools of. It may also import what it needs from ``pi.extension``.


FACTORY = "tools"
BUILT_IN = frozenset((*DEFAULT_TOOLS, *READ_ONLY_TOOLS))


Taken: TypeAlias = dict[str, Path]
"""Names of tools, and the files that have them."""


def bringing_tools(candidate: Candidate, taken: Taken) -> Candidate:
    """An extension that registers the tools of the file or folder of ``candidate``.

    ``taken`` is shared by those of which each must have names of its own.
    """
    assert candidate.path is not None
    return replace(candidate, factory=partial(_register, candidate.path, taken))


async def _register(path: Path, taken: Taken, pi: ExtensionAPI) -> None:
    """Register the tools of a file; ``ExtensionError`` if there are none, or a name is taken."""
    module = module_at(path)
    if (factory := getattr(module, FACTORY, None)) is not None:
        tools = _several(await maybe_await(factory(pi)))
    else:
        tools = [each for each in vars(module).values() if isinstance(each, AgentTool)]
    if not tools:
        raise ExtensionError(
            f"{path} brings no tool.", hint="Write `def tools(pi): ...`, or a function with @tool."
        )
    for tool in tools:
        _must_be_free(tool, path, taken)
    for tool in tools:
        pi.register_tool(tool)
        taken[tool.name] = path


def _several(made: Any) -> list[Any]:
    is_list = isinstance(made, Iterable) and not isinstance(made, Mapping)
    return list(made) if is_list else [made]


def _must_be_free(tool: Any, path: Path, taken: Taken) -> None:
    """A tool of such a file replaces no other one: an extension can, on purpose."""
    name = getattr(tool, "name", "")
    if taken.get(name, path) != path:
        raise ExtensionError(
            f"The tool {name} of {path} has the name of one in {taken[name]}.",
            hint="Call one of them something else.",
        )
    if name in BUILT_IN:
        raise ExtensionError(
            f"The tool {name} of {path} has the name of a built-in tool.",
            hint="Call it something else, or replace the other one with an extension.",
        )
