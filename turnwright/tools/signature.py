"""From a Python function to what a model needs to call it: schema, descriptions, validation."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model
from pydantic.errors import PydanticUserError

from turnwright.tools.context import ToolContext
from turnwright.tools.errors import DefinitionError
from turnwright.tools.schema import parameters, validated


@dataclass(frozen=True)
class Signature:
    """How a tool is called."""

    description: str
    """The docstring without its sections."""
    parameters: dict[str, Any]
    """JSON Schema of type object; parameters are described as in the docstring."""
    context_parameter: str | None
    """The parameter that takes the `ToolContext`; not in the schema."""
    _model: type[BaseModel]
    _fields: dict[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that models give."""
        return tuple(self._fields)

    def validate(self, arguments: dict[str, JsonValue] | str) -> dict[str, Any]:
        """Keyword arguments for the function, defaults included, or `ArgumentsInvalid`."""
        model = validated(self._model, arguments)
        return {name: getattr(model, field) for name, field in self._fields.items()}


def read_signature(function: Callable[..., object], name: str) -> Signature:
    """The signature of `function`, or `DefinitionError` if no model could call it.

    Every parameter needs an annotation of which pydantic can make a JSON Schema. `*args`,
    `**kwargs` and positional-only parameters are refused: models send named arguments.
    """
    hints = _hints(function, name)
    documentation = _documentation(function)
    context_parameter: str | None = None
    definitions: dict[str, Any] = {}
    fields: dict[str, str] = {}
    for index, parameter in enumerate(inspect.signature(function).parameters.values()):
        _check_kind(parameter, name)
        if parameter.name not in hints:
            raise DefinitionError(
                f"tool {name}: parameter {parameter.name!r} has no annotation, so models cannot "
                "be told what it takes"
            )
        annotation = hints[parameter.name]
        if _is_context(annotation):
            if context_parameter is not None:
                raise DefinitionError(f"tool {name}: two parameters take a ToolContext")
            context_parameter = parameter.name
            continue
        # Fields have names of their own: a parameter may be called `copy` or `_x`.
        fields[parameter.name] = f"p{index}"
        definitions[f"p{index}"] = _field(
            parameter, annotation, documentation.parameters.get(parameter.name)
        )
    model, schema = _model(name, definitions)
    return Signature(documentation.description, schema, context_parameter, model, fields)


def _hints(function: Callable[..., object], name: str) -> dict[str, Any]:
    # functools.partial and objects with __call__ keep their annotations elsewhere.
    target = getattr(function, "func", function)
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise DefinitionError(f"tool {name}: an annotation cannot be resolved: {error}") from error


def _check_kind(parameter: inspect.Parameter, name: str) -> None:
    match parameter.kind:
        case inspect.Parameter.POSITIONAL_ONLY:
            fault = "is positional-only; models send named arguments"
        case inspect.Parameter.VAR_POSITIONAL:
            fault = "takes any number of values; use one parameter that takes a list"
        case inspect.Parameter.VAR_KEYWORD:
            fault = "takes any names; use one parameter that takes a dict"
        case _:
            return
    raise DefinitionError(f"tool {name}: parameter {str(parameter)!r} {fault}")


def _is_context(annotation: object) -> bool:
    wrapped = get_origin(annotation) in (Annotated, Union, UnionType)
    return annotation is ToolContext or (wrapped and ToolContext in get_args(annotation))


def _field(
    parameter: inspect.Parameter, annotation: object, description: str | None
) -> tuple[object, object]:
    """The parameter as `create_model` takes a field: its type and its default."""
    own = (
        Field(alias=parameter.name, description=description)
        if description
        else Field(alias=parameter.name)
    )
    required = parameter.default is inspect.Parameter.empty
    return Annotated[annotation, own], ... if required else parameter.default


def _model(name: str, definitions: dict[str, Any]) -> tuple[type[BaseModel], dict[str, Any]]:
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **definitions)
        return model, parameters(model)
    except PydanticUserError as error:
        raise DefinitionError(
            f"tool {name}: a parameter's type has no JSON Schema: {error.message}"
        ) from error


@dataclass(frozen=True)
class _Documentation:
    description: str
    parameters: dict[str, str]


def _documentation(function: Callable[..., object]) -> _Documentation:
    text = inspect.getdoc(function) or ""
    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:
        return _Documentation(text, {})
    description = "\n\n".join(
        part for part in (parsed.short_description, parsed.long_description) if part
    )
    return _Documentation(
        description, {each.arg_name: each.description or "" for each in parsed.params}
    )
