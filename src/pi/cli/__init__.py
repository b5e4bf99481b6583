"""The command line: reads flags, then hands over. Must not know how anything is done."""
