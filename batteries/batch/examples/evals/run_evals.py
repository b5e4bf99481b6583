"""Runs the tasks of this folder with `pi batch` and prints what came of them.

python run_evals.py                                  with a scripted model, offline
python run_evals.py --model anthropic/claude-opus-4-5

Each task is solved in a copy of its folder `start`. Its verifier is a pytest file outside of the
copy: the model neither sees nor changes it. Results and trajectories are in `results`.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTED = "faux/faux"


def tasks() -> Iterator[dict[str, str]]:
    """Yield the tasks in the form of `pi batch`."""
    for folder in sorted((HERE / "tasks").iterdir()):
        verifier = folder / f"verify_{folder.name}.py"
        check = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(verifier)]
        yield {
            "id": folder.name,
            "prompt": (folder / "prompt.md").read_text().strip(),
            "cwd": str(folder / "start"),
            "check": f"{shlex.join(check)} --rootdir=. --import-mode=importlib",
        }


def run(model: str, results: Path, options: list[str]) -> list[dict[str, object]]:
    """Run all tasks; returns the last row of each."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "tasks.jsonl"
        file.write_text("".join(json.dumps(task) + "\n" for task in tasks()))
        command = [sys.executable, "-m", "pi", "batch", str(file), "-o", str(results)]
        command += ["--isolation", "copy", "--redo", "all", "--model", model, *options]
        command += ["--atif", str(results / "trajectories")]
        if model == SCRIPTED:
            command += ["-e", str(HERE / "scripted_model.py")]
        subprocess.run(command, check=False)
    lines = (results / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return sorted({row["id"]: row for row in rows}.values(), key=lambda row: row["id"])


def main() -> int:
    """Print a line for each task, and the totals."""
    parser = argparse.ArgumentParser(description="Run the tasks of this folder.")
    parser.add_argument("--model", default=SCRIPTED)
    parser.add_argument("--output", type=Path, default=Path("results"))
    arguments, options = parser.parse_known_args()
    rows = run(arguments.model, arguments.output, options)
    total, cost, passed = 0, 0.0, 0
    for row in rows:
        usage = row["usage"]
        tokens = sum(usage[name] for name in ("input", "output", "cacheRead", "cacheWrite"))
        numbers = f"{tokens:8,} tokens ${row['cost']:.4f} {row['seconds']:6.1f} s"
        print(f"{row['id']:14} {row['status']:8} {numbers}")
        total, cost, passed = total + tokens, cost + row["cost"], passed + (row["status"] == "done")
    seconds = sum(row["seconds"] for row in rows)
    rate = f"{passed} of {len(rows)} passed ({passed / len(rows):.0%})"
    print(f"{rate}, {total:,} tokens, ${cost:.4f}, {seconds:.1f} s")
    return 0 if passed == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
