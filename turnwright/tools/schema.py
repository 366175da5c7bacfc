"""Arguments from models: the JSON Schema they are shown, and the check of what they sent."""

from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, to_json

from turnwright.tools.errors import ArgumentsInvalid

M = TypeVar("M", bound=BaseModel)


class _ParametersSchema(GenerateJsonSchema):
    """JSON Schema as models need it: without titles, which repeat the names."""

    # A default that JSON cannot express is left out of the schema; it still holds.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as pydantic declares it
        "skipped-choice",
        "non-serializable-default",
    }

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def parameters(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema, of type object, of what `model` accepts."""
    schema = model.model_json_schema(schema_generator=_ParametersSchema)
    schema.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", "properties": {}} | schema


def validated(model: type[M], arguments: dict[str, JsonValue] | str) -> M:
    """The arguments as `model`, or `ArgumentsInvalid`, its text written for the model to mend.

    A string is what a model sent in place of an object: it is taken if it is the JSON of one.
    """
    try:
        return model.model_validate_json(
            arguments if isinstance(arguments, str) else to_json(arguments)
        )
    except PydanticSerializationError as error:
        raise ArgumentsInvalid(f"The arguments are not valid JSON text: {error}") from error
    except ValidationError as error:
        raise ArgumentsInvalid(_for_the_model(error)) from error


def _for_the_model(error: ValidationError) -> str:
    lines = ["The arguments are not valid. Nothing was done; correct them and call again."]
    for fault in error.errors(include_url=False, include_context=False):
        where = ".".join(str(part) for part in fault["loc"])
        lines.append(f"- {where}: {fault['msg']}" if where else f"- {fault['msg']}")
    return "\n".join(lines)
