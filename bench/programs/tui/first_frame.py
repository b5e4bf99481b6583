"""Imports the screen and paints an editor once; with ``asyncio`` only imports that."""

import sys

if sys.argv[1] == "asyncio":
    import asyncio  # noqa: F401
else:
    from bench.programs.tui.first_editor import main

    main()
