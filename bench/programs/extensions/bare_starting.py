"""Imports so many trivial extensions with no host: ``bare_starting EXTENSIONS``.

Prints the CPU time, in ms.
"""

import sys
import time
from importlib.util import module_from_spec, spec_from_file_location

from bench.programs.extensions.folders import folder_with

with folder_with(int(sys.argv[1])) as folder:
    before = time.process_time()
    for number, path in enumerate(sorted(folder.rglob("*.py"))):
        spec = spec_from_file_location(f"bare_{number}", path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        assert callable(module.extension)
    print((time.process_time() - before) * 1e3)
