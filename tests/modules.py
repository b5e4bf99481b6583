"""Modules that a program has loaded."""

from __future__ import annotations


def inside(module: str, packages: tuple[str, ...]) -> bool:
    """Whether a module is one of these packages, or in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)
