"""Programs that stand for the clients of pi's headless modes, and floors beside them."""
