"""Runs a batch: ``running TASKS WORKERS PER_WORKER``.

Prints the CPU time per task in ms (with WORKERS 0, where all is in this process), the peak memory
of a process in MB, and tasks per second, with the start of the workers.
"""

import asyncio
import resource
import sys
import time

from bench.programs.batch.model import extension, home
from pi.sdk import BatchOptions, run_batch


async def main(count: int, batch: BatchOptions) -> None:
    """Run ``count`` tasks with stored sessions and results."""
    tasks = [{"id": f"t{number}", "prompt": "say a word"} for number in range(count)]
    with home() as folder:
        began, cpu = time.monotonic(), time.process_time()
        done = 0
        async for result in run_batch(
            tasks, output=folder / "out", batch=batch, model="faux/faux", extensions=[extension]
        ):
            done += result.status == "done"
        cpu, seconds = time.process_time() - cpu, time.monotonic() - began
        if done != count:
            sys.exit(f"{done} of {count} tasks are done")
        peak = max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        print(cpu / count * 1e3, peak / 1e3, count / seconds)


if __name__ == "__main__":
    tasks, workers, per_worker = map(int, sys.argv[1:4])
    asyncio.run(main(tasks, BatchOptions(workers=workers, per_worker=per_worker)))
