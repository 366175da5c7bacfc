"""Function tools and control tools: definition, validation, calls, results."""
