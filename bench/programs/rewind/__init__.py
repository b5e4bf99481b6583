"""Programs that call tools in a session with rewind, in large projects."""
