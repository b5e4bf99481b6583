"""Kernels without a session: what starting one, a cell and its output cost."""
