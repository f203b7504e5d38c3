"""Compiled loops of the exact certificates."""
