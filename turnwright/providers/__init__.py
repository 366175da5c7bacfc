"""The model providers: every way of reaching a model, behind the port `domain.ports.Models`."""

from turnwright.providers.registry import Providers

__all__ = ["Providers"]
