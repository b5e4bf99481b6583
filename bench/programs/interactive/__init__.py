"""Programs that run ``pi`` in a terminal and print its cost."""
