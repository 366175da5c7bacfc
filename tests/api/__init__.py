"""The HTTP API over real sockets, on real parts."""
