"""The program `turnwright`, as real processes."""
