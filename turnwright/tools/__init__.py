"""Tools: Python functions, and those that the runtime itself answers."""
