"""The house stays as it was drawn: its rooms, their sizes, which way dependencies run, and how failures are caught."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("docmemo_site", "ingestion", "qa", "workers", "ops")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
TOP_LEVEL = {
    "manage.py", "pyproject.toml", "README.md", "LICENSE", "docmemo_site", "ingestion", "qa", "workers", "tests", "ops",
}  # fmt: skip
# A broad except stands only at the outermost boundary of a worker, and records what it caught.
OUTERMOST = {"workers/loop.py": 1, "ingestion/services/pipeline.py": 1, "qa/services/answering.py": 1}
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}


def _sources() -> list[Path]:
    return [p for part in PRODUCT for p in sorted((ROOT / part).rglob("*.py")) if "migrations" not in p.parts]


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_the_top_level_is_the_fixed_one() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\n")
    names = {line.split("/")[0] for line in listed if line} or {p.name for p in ROOT.iterdir()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


@pytest.mark.parametrize("path", _sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_keep_to_their_size(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= MAX_FILE_LINES
    sizes = {f.name: f.end_lineno - f.lineno + 1 for f in _functions(ast.parse(source))}
    long = {name: lines for name, lines in sizes.items() if lines > MAX_FUNCTION_LINES}
    assert not long


def test_no_room_is_called_for_what_it_is_not() -> None:
    bad = [str(p.relative_to(ROOT)) for p in _sources() if BANNED_NAMES & {p.stem, *p.relative_to(ROOT).parts}]
    assert not bad


def test_broad_excepts_stand_at_the_outermost_boundaries_only() -> None:
    found: dict[str, int] = {}
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception")
            ):
                name = str(path.relative_to(ROOT))
                found[name] = found.get(name, 0) + 1
    assert found == OUTERMOST


def test_public_functions_of_services_and_selectors_promise_something() -> None:
    missing = []
    for folder in ("ingestion/services", "ingestion/selectors", "qa/services", "qa/selectors"):
        for path in sorted((ROOT / folder).glob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not ast.get_docstring(node):
                    missing.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not missing


def test_dependencies_run_one_way() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_contracts_ignore_nothing() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    assert contracts and not any("ignore_imports" in contract for contract in contracts)
