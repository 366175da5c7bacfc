"""Side effects: each activity does one step of a run and records it, once, in the log.

They see the domain's ports; the adapters are injected by the composition roots.
"""
