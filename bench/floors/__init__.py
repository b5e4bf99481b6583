"""The least that bare programs do. Each is a script that imports what it needs and no more."""
