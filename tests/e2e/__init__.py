"""Whole turns, on the real parts."""
