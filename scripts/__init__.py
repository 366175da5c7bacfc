"""Programs for developers, run by hand from the checkout: `python -m scripts.NAME`."""
