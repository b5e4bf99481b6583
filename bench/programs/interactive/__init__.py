"""Programs that sit at a terminal in which ``pi`` runs, and print what it cost."""
