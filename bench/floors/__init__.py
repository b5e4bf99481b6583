"""Floors: bare programs that do the least possible. Each script imports only what it needs."""
