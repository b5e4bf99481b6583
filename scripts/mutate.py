"""Random changes of modules, to find behaviour that no test notices.

``.venv/bin/python -m scripts.mutate --count 200 SOURCES -- TESTS`` copies the checkout to a
temporary folder, makes one random change there at a time, and runs the tests. A
change that all tests pass is printed as a diff: it is either equivalent or a missing test.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.workspace import ROOT, import_path

COPIED = (
    *("packages", "batteries", "tests", "conftest.py", "scripts", "docs"),
    *("pyproject.toml", "pi", "test", "bench"),
)
_MESSAGE = re.compile(r"[A-Za-z,.]+ [a-z]+ [a-z]+")
SECONDS = 180.0
"""A mutation that makes the tests run longer than this counts as found."""

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_METHODS = {
    "startswith": "endswith", "endswith": "startswith", "fullmatch": "match", "match": "search",
    "partition": "rpartition", "rpartition": "partition", "removeprefix": "removesuffix",
    "union": "intersection", "isdisjoint": "issuperset",
}  # fmt: skip
_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}
_ALTERNATIVE = re.compile(r"\|[\w.\\*+?-]+(?=[|)])")
_ENTRIES = re.compile(r"[\w@.*+\\-]{2,}")


@dataclass(frozen=True)
class Mutation:
    """A replacement in the source of one module."""

    path: Path
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        """Return the changed source."""
        return source[: self.start] + self.text + source[self.end :]

    def diff(self, source: str) -> str:
        """Return the change as a diff without context."""
        before, after = source.splitlines(), self.apply(source).splitlines()
        lines = difflib.unified_diff(before, after, str(self.path), "", lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith("+++"))


def mutations(path: Path, source: str, chance: random.Random) -> list[Mutation]:
    """Return one mutation for every place of a module that can be changed."""
    tree = ast.parse(source)
    offsets = _line_offsets(source)

    def position(line: int, column: int) -> int:
        start = offsets[line - 1]
        encoded = source[start : offsets[line]].encode()
        return start + len(encoded[:column].decode())

    found = []
    ignored = _ignored(tree)
    for node in ast.walk(tree):
        if id(node) in ignored or not isinstance(node, ast.expr | ast.stmt):
            continue
        if node.end_lineno is None or node.end_col_offset is None:
            continue
        start = position(node.lineno, node.col_offset)
        end = position(node.end_lineno, node.end_col_offset)
        for text in _replacements(node, source[start:end], chance):
            mutation = Mutation(path=path, start=start, end=end, text=text)
            if text != source[start:end] and _compiles(mutation.apply(source)):
                found.append(mutation)
    return found


def _line_offsets(source: str) -> list[int]:
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    return [*offsets, len(source)]


def _ignored(tree: ast.AST) -> set[int]:
    """The nodes without behaviour: docstrings, annotations, imports, messages."""
    nodes = [*ast.walk(tree)]
    tables = {
        id(argument)
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("_names", "re.compile")
        for argument in node.args
    }
    roots = [inner for node in nodes for inner in _without_behaviour(node)]
    messages = (node for node in roots if id(node) not in tables)
    return {id(inner) for node in messages for inner in ast.walk(node)}


def _without_behaviour(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant()):
            yield node
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Assert() | ast.Raise():
            yield node
        case ast.Constant(value=str() as text) if _MESSAGE.search(text):
            yield node
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
            yield annotation
        case ast.FunctionDef(decorator_list=decorators, returns=returns):
            yield from decorators
            yield from [returns] if returns is not None else []
        case ast.AsyncFunctionDef(decorator_list=decorators, returns=returns):
            yield from decorators
            yield from [returns] if returns is not None else []


def _replacements(node: ast.AST, text: str, chance: random.Random) -> Iterator[str]:
    match node:
        case ast.expr():
            yield from _changed_expression(node, text, chance)
        case ast.Return(value=ast.expr()):
            yield "return None"
        case ast.Continue() | ast.Break() | ast.AugAssign():
            yield "pass"
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield "pass"


def _changed_expression(node: ast.expr, text: str, chance: random.Random) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[operator], left=left, comparators=[right]):
            sides = ast.unparse(left), ast.unparse(right)
            yield f"({sides[0]} {_COMPARISONS[type(operator)]} {sides[1]})"
        case ast.BoolOp():
            yield from _changed_logic(node, chance)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=ast.Constant(value=int())):
            yield f"({ast.unparse(left)})"
        case ast.IfExp(test=test, body=body, orelse=other):
            yield f"({ast.unparse(other)} if {ast.unparse(test)} else {ast.unparse(body)})"
        case ast.Constant(value=value) if value is not None:
            yield from _changed_constant(value, text, chance)
        case ast.Attribute(attr=name, value=owner) if name in _METHODS:
            yield f"{ast.unparse(owner)}.{_METHODS[name]}"
        case ast.Name(id=name) if name in _CALLS:
            yield _CALLS[name]


def _changed_logic(node: ast.BoolOp, chance: random.Random) -> Iterator[str]:
    words = (" and ", " or ") if isinstance(node.op, ast.And) else (" or ", " and ")
    parts = [f"({ast.unparse(value)})" for value in node.values]
    yield f"({words[1].join(parts)})"
    del parts[chance.randrange(len(parts))]
    yield f"({words[0].join(parts)})"


def _changed_constant(value: object, text: str, chance: random.Random) -> Iterator[str]:
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield str(value + 1)
    elif isinstance(value, str) and value:
        yield from _changed_text(text, chance)


def _changed_text(text: str, chance: random.Random) -> Iterator[str]:
    """Drop an entry of a table or an alternative of a pattern; change other texts."""
    entries = list(_ENTRIES.finditer(text))
    if "\\" not in text and len(entries) > 3:
        entry = chance.choice(entries)
        yield text[: entry.start()] + "mutated" + text[entry.end() :]
    elif "|" in text and len(text) > 6:
        bars = [match.start() for match in re.finditer(r"(?<!\\)\|", text)]
        dropped = [match for bar in bars if (match := _ALTERNATIVE.match(text, bar))]
        if dropped:
            alternative = chance.choice(dropped)
            yield text[: alternative.start()] + text[alternative.end() :]
    elif text[0] in "\"'" and text[:3] not in ('"""', "'''"):
        yield f"{text[:-1]}mutated{text[-1]}"


def _compiles(source: str) -> bool:
    try:
        compile(source, "<mutation>", "exec")
    except SyntaxError:
        return False
    return True


def _copy(target: Path) -> None:
    for name in COPIED:
        path = ROOT / name
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "node_modules")
            shutil.copytree(path, target / name, symlinks=True, ignore=ignored)
        elif path.exists():
            shutil.copy2(path, target / name)


def _passes(folder: Path, tests: Sequence[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    environ = {
        **os.environ,
        "PYTHONPATH": import_path(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            [*command, *tests], cwd=folder, env=environ, capture_output=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> None:
    """Run the mutations and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("sources", nargs="+", type=Path, help="modules or folders; then -- TESTS")
    position = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:position])
    tests = sys.argv[position + 1 :] or ["tests"]
    chance = random.Random(options.seed)
    files = [file for path in options.sources for file in sorted(path.rglob("*.py")) or [path]]
    candidates = [each for file in files for each in mutations(file, file.read_text(), chance)]
    chosen = chance.sample(candidates, min(options.count, len(candidates)))
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as name:
        folder = Path(name)
        _copy(folder)
        if not _passes(folder, tests):
            sys.exit("The tests fail without a mutation.")
        for number, mutation in enumerate(chosen, start=1):
            source = mutation.path.read_text()
            (folder / mutation.path).write_text(mutation.apply(source))
            if _passes(folder, tests):
                survivors += 1
                print(f"\n{number}/{len(chosen)} survives\n{mutation.diff(source)}", flush=True)
            (folder / mutation.path).write_text(source)
    print(f"\n{len(candidates)} places, {len(chosen)} mutations, {survivors} survive")


if __name__ == "__main__":
    main()
