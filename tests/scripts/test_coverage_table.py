from __future__ import annotations

from scripts.coverage_table import by_package, table


def file(statements: int, covered: int, branches: int = 0, taken: int = 0) -> dict[str, object]:
    return {
        "summary": {
            "num_statements": statements,
            "covered_lines": covered,
            "num_branches": branches,
            "covered_branches": taken,
        }
    }


def test_coverage_combines_lines_and_branches_by_layer_and_package() -> None:
    rows = by_package(
        {
            "packages/pi-ai/src/pi/ai/event_stream.py": file(10, 10),
            "packages/pi-ai/src/pi/ai/wire/a/request.py": file(6, 3, 4, 2),
            "packages/pi-ai/src/pi/ai/wire/b/request.py": file(10, 10),
            "src/pi/__init__.py": file(1, 1),
        }
    )

    assert rows == {"ai": 100 * 25 / 30, "ai/wire": 75.0}
    assert table(rows) == ["ai        83.3 %", "ai/wire   75.0 %"]
