"""Programs that draw on a terminal that only counts; each prints one figure."""
