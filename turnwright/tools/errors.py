"""What can be wrong with tools and agents.

TurnwrightError
├── DefinitionError     an author's definition cannot work; raised where it is written
├── ArgumentsInvalid    the model's arguments do not fit; its text tells the model why
├── Unrenderable        what a tool returned cannot be shown to a model
└── ToolError           raised by authors, inside their tools
"""

from turnwright.domain.errors import TurnwrightError


class DefinitionError(TurnwrightError):
    """The definition of a tool or an agent cannot work."""


class ArgumentsInvalid(TurnwrightError):
    """The arguments do not fit the tool."""


class Unrenderable(TurnwrightError):
    """The tool's return value cannot be shown to a model."""


class ToolError(TurnwrightError):
    """The tool failed, and its author says so.

    `text` is what the model reads, word for word. With `fatal=True` the run fails as well
    (`tool_failed`): for what no model can mend.
    """

    def __init__(self, text: str, *, fatal: bool = False) -> None:
        super().__init__(text)
        self.fatal = fatal
