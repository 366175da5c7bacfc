"""What an author writes: agents, their loading, the examples."""
