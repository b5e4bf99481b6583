"""Figures of the source tree below ``src/pi``, read from its syntax; nothing is imported.

Each function returns the items behind a figure, so that ``scripts/figures --list`` can show them.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FACADES = frozenset(
    {"AgentSession", "SessionManager", "ExtensionAPI", "ExtensionContext", "ExtensionUI"}
)
"""Classes whose members the specification fixes; their methods may delegate."""

CONTAINERS = frozenset(
    {"bytearray", "Counter", "defaultdict", "deque", "dict", "list", "set", "StringIO", "BytesIO"}
    | {"ExitStack", "AsyncExitStack", "ContextVar", "WeakKeyDictionary", "WeakSet"}
)
"""Types of the standard library that a class uses as its own state."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file of the tree."""

    name: str
    """Dotted, e.g. ``pi.base.records``; a package has the name of its folder."""
    path: str
    """Relative to the root of the checkout."""
    is_package: bool
    lines: int
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package whose folder the file is in."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def layer(self) -> str:
        """The first folder below ``pi``, or the name of a file that is in none."""
        return self.name.split(".")[1] if "." in self.name else "pi"


def read_modules(root: Path) -> list[Module]:
    """Every file of ``src/pi``."""
    modules = []
    for file in sorted((root / "src" / "pi").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        parts = file.relative_to(root / "src").with_suffix("").parts
        is_package = parts[-1] == "__init__"
        modules.append(
            Module(
                name=".".join(parts[:-1] if is_package else parts),
                path=file.relative_to(root).as_posix(),
                is_package=is_package,
                lines=len(text.splitlines()),
                tree=ast.parse(text),
            )
        )
    return modules


def classes(modules: list[Module]) -> list[tuple[Module, ast.ClassDef]]:
    """Every class, also inside others and inside functions."""
    return [
        (module, node)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    ]


def repeated_class_names(modules: list[Module], *, per_layer: bool) -> list[str]:
    """Public class names with more than one definition, in one layer or in the whole tree."""
    counted = Counter(
        f"{module.layer}: {node.name}" if per_layer else node.name
        for module, node in classes(modules)
        if not node.name.startswith("_")
    )
    return sorted(f"{name} ({count})" for name, count in counted.items() if count > 1)


def delegating_methods(modules: list[Module]) -> list[str]:
    """Methods that only forward to an attribute of ``self``, except those of ``FACADES``.

    A class that inherits from a facade has the same fixed members and is exempt too.

    A method counts if its body has, after the docstring, exactly one statement, which is
    ``return E``, ``return await E``, ``await E`` or ``E``, and ``E`` is one of:

    - a call ``self.x.y(…)`` (or deeper, ``self.x.y.z(…)``) whose arguments are all parameters of
      the method, passed as they are: ``a``, ``*a``, ``key=a``, ``**a``;
    - only after ``return`` and without ``await``, an attribute ``self.x.y`` (or deeper).

    Properties count like other methods. A method that passes a constant, a computed value or a
    field of its own adds something and does not count, nor does one that calls ``self.x(…)``. A
    method of a container or of a primitive of asyncio that the class itself creates
    (``self._queue.append(item)``) changes the state of the class and does not count either: there
    is no other object of pi that a caller could use instead.
    """
    return [
        f"{module.path}:{method.lineno} {node.name}.{method.name}"
        for module, node in classes(modules)
        if not _is_facade(node)
        for own in [_own_containers(node)]
        for method in node.body
        if isinstance(method, Function) and _only_delegates(method, own)
    ]


def _is_facade(node: ast.ClassDef) -> bool:
    names = {node.name, *(base.id for base in node.bases if isinstance(base, ast.Name))}
    return bool(names & FACADES)


def _own_containers(node: ast.ClassDef) -> set[str]:
    """Attributes of ``self`` that the class sets to a container or primitive of the library."""
    found = set()
    for item in ast.walk(node):
        if isinstance(item, ast.AnnAssign) and item.value is not None:
            targets: list[ast.expr] = [item.target]
            value = item.value
        elif isinstance(item, ast.Assign):
            targets, value = item.targets, item.value
        else:
            continue
        if _is_container(value):
            found |= {
                target.attr
                for target in targets
                if isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "self"
            }
    return found


def _is_container(value: ast.expr) -> bool:
    if isinstance(
        value,
        ast.List | ast.Dict | ast.Set | ast.Tuple | ast.ListComp | ast.DictComp | ast.SetComp,
    ):
        return True
    if not isinstance(value, ast.Call):
        return False
    function = value.func
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id in {
            "asyncio",
            "threading",
        }
    return isinstance(function, ast.Name) and function.id in CONTAINERS


def _only_delegates(method: Function, own: set[str]) -> bool:
    body = method.body[1:] if ast.get_docstring(method, clean=False) is not None else method.body
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value
    is_awaited = isinstance(value, ast.Await)
    if isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        of_own = isinstance(value.func, ast.Attribute) and (
            isinstance(value.func.value, ast.Attribute) and value.func.value.attr in own
        )
        return (
            not of_own
            and _reaches_through_self(value.func, method)
            and _passes_parameters(value, method)
        )
    is_returned = isinstance(body[0], ast.Return) and not is_awaited
    return is_returned and _reaches_through_self(value, method)


def _reaches_through_self(value: ast.expr | None, method: Function) -> bool:
    """Whether ``value`` is ``self.x.y`` or deeper."""
    depth = 0
    while isinstance(value, ast.Attribute):
        value, depth = value.value, depth + 1
    own = method.args.posonlyargs + method.args.args
    return depth >= 2 and isinstance(value, ast.Name) and bool(own) and value.id == own[0].arg


def _passes_parameters(call: ast.Call, method: Function) -> bool:
    arguments = method.args
    parameters = {
        item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    }
    parameters |= {item.arg for item in (arguments.vararg, arguments.kwarg) if item}
    passed = [
        *(item.value if isinstance(item, ast.Starred) else item for item in call.args),
        *(item.value for item in call.keywords),
    ]
    return all(isinstance(item, ast.Name) and item.id in parameters for item in passed)


def imports_in_functions(modules: list[Module]) -> list[str]:
    """Import statements inside functions, of modules of any origin."""
    found = []
    for module in modules:
        lines = {
            node.lineno
            for function in ast.walk(module.tree)
            if isinstance(function, Function)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        found += [f"{module.path}:{line}" for line in sorted(lines)]
    return found


def single_importer_modules(
    modules: list[Module], *, same_package: bool, without_deferred: bool = False
) -> list[str]:
    """Modules that exactly one other module of the tree imports.

    Every import statement counts, also in functions and under ``TYPE_CHECKING``; importing a
    module does not count as importing the packages around it. Packages are no candidates.
    With ``same_package``, only those whose importer is a module of the same folder. Its
    ``__init__.py`` does not count: it is the entry of the package and re-exports names.
    With ``without_deferred``, modules that are only imported inside functions are left out: they
    are separate modules so that they are loaded later than their importer.
    """
    importers = _importers(modules)
    by_name = {module.name: module for module in modules}
    found = []
    for module in modules:
        if module.is_package or len(importers[module.name]) != 1:
            continue
        importer = by_name[next(iter(importers[module.name]))]
        in_folder = importer.package == module.package and not importer.is_package
        is_omitted = without_deferred and module.name not in _loaded_with(importer)
        if (not same_package or in_folder) and not is_omitted:
            found.append(f"{module.name} <- {importer.name}")
    return found


def _loaded_with(module: Module) -> set[str]:
    """The dotted names that statements outside of functions import, and their parents."""
    own = [node for node in module.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = set(_imported(module, own))
    return names | {name.rpartition(".")[0] for name in names}


def _importers(modules: list[Module]) -> Mapping[str, set[str]]:
    """The names of the importing modules, by imported module."""
    known = {module.name for module in modules}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in _imported(module, ast.walk(module.tree)):
            # In ``from a import b``, ``b`` is a name that ``a`` defines, or a module below it.
            target = name if name in known else name.rpartition(".")[0]
            if target in known and target != module.name:
                importers[target].add(module.name)
    return importers


def _imported(module: Module, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The dotted names in import statements; ``a.b`` for ``from a import b``."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.package.split(".")
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
