"""Which models a request may name."""

from api.errors import invalid
from api.parts import ApiParts
from turnwright.domain.errors import Invalid


def check_model(parts: ApiParts, model: str | None) -> None:
    """Raise `Invalid` unless a request may name this model, or names none."""
    if model is None:
        return
    _check_scripted(parts, model)
    try:
        parts.models.check(model)
    except Invalid as error:
        raise invalid([{"loc": ["body", "model"], "msg": error.detail}]) from error


def _check_scripted(parts: ApiParts, model: str) -> None:
    """Raise `Invalid` for a scripted model that a request may not choose.

    A script has the agent's tools called as its author likes, and a playbook is a file of the
    worker's: trying an agent out on one's own machine is one thing, a deployment another. An
    agent whose own model is scripted needs no request to say so.
    """
    provider, _, name = model.partition(":")
    if provider == "scripted" and (parts.settings.auth == "keys" or name not in ("echo", "script")):
        fault = "a request cannot choose this scripted model; an agent can have it as its own"
        raise invalid([{"loc": ["body", "model"], "msg": fault}])
