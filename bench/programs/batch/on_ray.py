"""Runs a batch on a Ray of this machine: ``on_ray TASKS``, all at a time in two actors.

Prints the CPU time per task in ms, of the driver and the actors together; the peak memory of the
larger actor in MB; tasks per second, from the first task to the last result; the memory of all
processes of Ray in MB; the CPU time per task after the first result, in ms; and the tasks.

Ray is started before, and is not part of the figures. Where it is installed by ``scripts/oracles``
only, the program starts itself again with that interpreter.
"""

import asyncio
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from bench.mock_process import ROOT
from bench.programs.batch.model import extension, home
from pi.sdk import BatchOptions, run_batch
from scripts.workspace import import_path

ORACLE = ROOT / ".oracles/python/bin/python"
WORKERS = 2


def with_ray() -> None:
    """Continue with an interpreter that has Ray."""
    if find_spec("ray") is not None:
        return
    site = next(path for path in sys.path if path.endswith("site-packages"))
    paths = f"{import_path(ROOT)}:{site}"
    words = [str(ORACLE), "-m", "bench.programs.batch.on_ray", *sys.argv[1:]]
    os.execve(ORACLE, words, {**os.environ, "PYTHONPATH": paths})


def tree(root: int) -> list[int]:
    """A process and all that it has started."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [root]
    for pid in found:
        found += parents.get(pid, ())
    return found


def memory_mb(pid: int, file: str, name: str) -> float:
    """A figure of memory that the kernel reports for a process; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith(name)), 0.0)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def actors() -> list[int]:
    """The processes of the workers of a batch: Ray names them after their class."""
    found = []
    for pid in tree(os.getpid()):
        try:
            name = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"_WorkerActor" in name:
            found.append(pid)
    return found


def start_ray() -> None:
    """Start Ray on this machine, with a small object store: a batch sends records only."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    ray.init(
        num_cpus=WORKERS,
        include_dashboard=False,
        object_store_memory=100_000_000,
        log_to_driver=False,
        logging_level="ERROR",
    )


async def measured(count: int, output: Path) -> tuple[float, ...]:
    """Run ``count`` tasks, all at a time, with stored sessions and results."""
    tasks = [{"id": f"t{number}", "prompt": "say a word"} for number in range(count)]
    batch = BatchOptions(
        ray="local", workers=min(WORKERS, count), per_worker=-(-count // WORKERS), retries=0
    )
    driver, began = time.process_time(), time.monotonic()
    first = cpu = peak = everything = seconds = 0.0
    done = 0
    async for result in run_batch(
        tasks, output=output, batch=batch, model="faux/faux", extensions=[extension]
    ):
        if not done:
            began = time.monotonic() - result.seconds
            first = time.process_time() - driver + sum(map(cpu_seconds, actors()))
        done += result.status == "done"
        if done == count:  # the actors end with the batch
            seconds, running = time.monotonic() - began, actors()
            cpu = time.process_time() - driver + sum(map(cpu_seconds, running))
            peak = max(memory_mb(pid, "status", "VmHWM") for pid in running)
            everything = sum(memory_mb(pid, "smaps_rollup", "Pss:") for pid in tree(os.getpid()))
    if done != count:
        sys.exit(f"{done} of {count} tasks are done")
    rest = (cpu - first) / max(count - 1, 1) * 1e3
    return cpu / count * 1e3, peak, count / seconds, everything, rest, count


def main(count: int) -> None:
    """Print the figures of one batch."""
    import ray

    with home() as folder:
        start_ray()
        print(*asyncio.run(measured(count, folder / "out")))
        ray.shutdown()


if __name__ == "__main__":
    with_ray()
    main(int(sys.argv[1]))
