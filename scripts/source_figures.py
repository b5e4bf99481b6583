"""Figures of the source tree below ``src/pi``, read from its syntax; nothing is imported.

Each function returns the items behind a figure, so that ``scripts/figures --list`` can show them.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FACADES = frozenset(
    {"AgentSession", "SessionManager", "ExtensionAPI", "ExtensionContext", "ExtensionUI"}
)
"""Classes whose members the specification fixes; their methods may delegate."""

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

    A method counts if its body has, after the docstring, exactly one statement, which is
    ``return E``, ``return await E``, ``await E`` or ``E``, and ``E`` is one of:

    - a call ``self.x.y(…)`` (or deeper, ``self.x.y.z(…)``) whose arguments are all parameters of
      the method, passed as they are: ``a``, ``*a``, ``key=a``, ``**a``;
    - only after ``return`` and without ``await``, an attribute ``self.x.y`` (or deeper).

    Properties count like other methods. A method that passes a constant, a computed value or a
    field of its own adds something and does not count, nor does one that calls ``self.x(…)``.
    """
    return [
        f"{module.path}:{method.lineno} {node.name}.{method.name}"
        for module, node in classes(modules)
        if node.name not in FACADES
        for method in node.body
        if isinstance(method, Function) and _only_delegates(method)
    ]


def _only_delegates(method: Function) -> bool:
    body = method.body[1:] if ast.get_docstring(method, clean=False) is not None else method.body
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value
    is_awaited = isinstance(value, ast.Await)
    if isinstance(value, ast.Await):
        value = value.value
    if isinstance(value, ast.Call):
        return _reaches_through_self(value.func, method) and _passes_parameters(value, method)
    is_returned = isinstance(body[0], ast.Return) and not is_awaited
    return is_returned and _reaches_through_self(value, method)


def _reaches_through_self(value: ast.expr | None, method: Function) -> bool:
    """Whether it is ``self.x.y`` or deeper."""
    depth = 0
    while isinstance(value, ast.Attribute):
        value, depth = value.value, depth + 1
    own = method.args.posonlyargs + method.args.args
    return depth >= 2 and isinstance(value, ast.Name) and bool(own) and value.id == own[0].arg


def _passes_parameters(call: ast.Call, method: Function) -> bool:
    given = method.args
    parameters = {item.arg for item in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    parameters |= {item.arg for item in (given.vararg, given.kwarg) if item}
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


def single_importer_modules(modules: list[Module], *, same_package: bool) -> list[str]:
    """Modules that exactly one other module of the tree imports.

    Every import statement counts, also in functions and under ``TYPE_CHECKING``; importing a
    module does not count as importing the packages around it. Packages are no candidates.
    With ``same_package``, only those whose importer is in the same folder.
    """
    importers = _importers(modules)
    by_name = {module.name: module for module in modules}
    found = []
    for module in modules:
        if module.is_package or len(importers[module.name]) != 1:
            continue
        (importer,) = importers[module.name]
        if not same_package or by_name[importer].package == module.package:
            found.append(f"{module.name} <- {importer}")
    return found


def _importers(modules: list[Module]) -> Mapping[str, set[str]]:
    """Which modules import each."""
    known = {module.name for module in modules}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module in modules:
        for name in _imported(module):
            # What is imported from a module may be a name of it or a module below it.
            target = name if name in known else name.rpartition(".")[0]
            if target in known and target != module.name:
                importers[target].add(module.name)
    return importers


def _imported(module: Module) -> Iterator[str]:
    """The dotted names that import statements name, with what they take from a module."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                around = module.package.split(".")
                base = ".".join([*around[: len(around) - node.level + 1], *filter(None, [base])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
