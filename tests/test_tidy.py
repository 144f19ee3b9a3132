"""The house rules that no linter knows. A rule that nobody can run is deleted."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("components/daiku_infra", "controller/daiku", "local/daiku_local")
CORE = (
    "commands.py", "events.py", "report.py", "tick.py", "model", "state", "scheduling", "provisioning",
    "lifecycle", "disruption",
)  # fmt: skip
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
AVOIDED = {"util", "utils", "helper", "helpers", "misc", "common", "manager", "data", "info"}

SOURCES = [
    *sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")),
    ROOT / "__main__.py",
]
TIERS = (ROOT / "Makefile").read_text().partition("FAST := ")[2].partition(".PHONY")[0].split()
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("path", SOURCES + TESTS, ids=_id)
def test_a_file_is_short_enough_to_read_at_once(path: Path) -> None:
    lines = len(path.read_text().splitlines())

    assert lines <= FILE_LINES_MAX, f"{lines} lines; split it at {FILE_LINES_MAX}"


@pytest.mark.parametrize("path", SOURCES + TESTS, ids=_id)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    long = {
        f.name: f.end_lineno - f.lineno + 1
        for f in _functions(_tree(path))
        if f.end_lineno is not None and f.end_lineno - f.lineno + 1 > FUNCTION_LINES_MAX
    }

    assert not long, f"more than {FUNCTION_LINES_MAX} lines: {long}"


@pytest.mark.parametrize("path", SOURCES, ids=_id)
def test_a_string_in_a_function_is_never_a_statement(path: Path) -> None:
    """A message cut in two by a line break is a bug that neither ruff nor basedpyright sees."""
    stray = [
        f"{function.name}:{statement.lineno}"
        for function in _functions(_tree(path))
        for statement in ast.walk(function)
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
        and statement is not function.body[0]
        and not _documents_something(statement, function)
    ]

    assert not stray


def _documents_something(
    statement: ast.Expr, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    """Whether it is the docstring of something inside, or stands under an attribute of self."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(function):
        if isinstance(node, inner) and node is not function and statement in node.body:
            return True
    before = (
        function.body[function.body.index(statement) - 1] if statement in function.body else None
    )
    targets = (
        before.targets
        if isinstance(before, ast.Assign)
        else [before.target]
        if isinstance(before, ast.AnnAssign)
        else []
    )
    return any(isinstance(t, ast.Attribute) and ast.unparse(t.value) == "self" for t in targets)


@pytest.mark.parametrize(
    "path",
    [p for p in SOURCES if any(f"controller/daiku/{part}" in _id(p) for part in CORE)],
    ids=_id,
)
def test_the_core_never_iterates_over_a_set(path: Path) -> None:
    """Sets change their order with the interpreter's hash seed; decisions must not."""
    iterated = [
        source.lineno
        for node in ast.walk(_tree(path))
        for source in (
            [node.iter]
            if isinstance(node, ast.For)
            else [g.iter for g in node.generators]
            if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp)
            else []
        )
        if isinstance(source, ast.Set | ast.SetComp)
        or (
            isinstance(source, ast.Call)
            and isinstance(source.func, ast.Name)
            and source.func.id in {"set", "frozenset"}
        )
    ]

    assert not iterated, f"lines {iterated}: sort it first"


@pytest.mark.parametrize("path", SOURCES, ids=_id)
def test_a_module_is_named_by_a_noun_that_says_something(path: Path) -> None:
    assert path.stem not in AVOIDED


@pytest.mark.parametrize("path", SOURCES, ids=_id)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    text = path.read_text()

    assert not text.strip() or ast.get_docstring(_tree(path))


@pytest.mark.parametrize("path", TESTS, ids=_id)
def test_every_test_is_collected(path: Path) -> None:
    tests = [f.name for f in _functions(_tree(path)) if f.name.startswith("test_")]

    assert not tests or path.name.startswith("test_"), "pytest collects files named test_*.py only"


def test_no_todo_waits_in_the_code() -> None:
    words = "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3))
    waiting = [_id(p) for p in SOURCES + TESTS if re.search(rf"#.*\b({words})\b", p.read_text())]

    assert waiting == []


def test_every_module_is_imported_by_something() -> None:
    imported = {name for path in SOURCES for name in _imports(_tree(path))}
    started = {"__main__", "__init__"}
    entry_points = {
        "daiku.cli", "daiku_local.cli", "daiku.cli.main",
        "daiku.reasons_page", "daiku_infra.fixed_cost", "daiku_infra.stack_manifests", "daiku.bill_of_materials",
    }  # fmt: skip
    modules = {
        ".".join(path.relative_to(ROOT / package).with_suffix("").parts): path
        for package in ("components", "controller", "local")
        for path in SOURCES
        if path.is_relative_to(ROOT / package) and path.stem not in started
    }

    assert sorted(name for name in modules if name not in imported | entry_points) == []


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.removeprefix("-m ")


def test_the_lock_names_no_index_and_pins_every_package_by_hash() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()

    assert [line for line in lines if "://" in line] == []
    pins = [line for line in lines if line and not line.startswith((" ", "#"))]
    assert all("==" in pin for pin in pins)
    assert len([line for line in lines if "--hash=sha256:" in line]) >= len(pins)


def test_every_test_is_run_by_make_test_or_make_test_all() -> None:
    names = [f.relative_to(ROOT).as_posix() for f in TESTS if f.name.startswith("test_")]

    assert [n for n in names if not any(n == t or n.startswith(f"{t}/") for t in TIERS)] == []
