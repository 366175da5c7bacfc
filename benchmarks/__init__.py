"""Measurements. Every figure is a ratio against a bare floor that runs in between."""
