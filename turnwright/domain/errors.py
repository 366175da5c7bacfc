"""Everything that can be refused or go wrong, as one tree. Each class's docstring is its message.

TurnwrightError
├── Refused                     the caller is told, nothing has changed
│   ├── NotFound
│   ├── Invalid
│   ├── SessionBusy
│   ├── SessionCompleted
│   ├── SessionNotAwaitingUser
│   ├── RunNotWaiting
│   ├── QuestionMismatch
│   ├── QuestionAnswered
│   ├── ApprovalResolved
│   ├── RunNotRetryable
│   ├── RunTerminal
│   └── IdempotencyKeyReused
├── Unavailable                 the database cannot be reached in time
├── Fenced                      this execution no longer owns the run
├── Held                        another execution owns the run
├── UnknownEvent                written by a newer version of the code
└── ModelError                  a model round that gave no response
    ├── ModelUnavailable        to be tried again
    ├── ModelRejected           never to be tried again
    ├── ModelRefused            the model declined
    └── ContextOverflow         the conversation does not fit
"""

from typing import Any, ClassVar

from turnwright.domain.run import FailureReason


class TurnwrightError(Exception):
    """Something went wrong."""

    def __init__(self, detail: str | None = None) -> None:
        self.detail = detail or (type(self).__doc__ or "").split("\n")[0]
        super().__init__(self.detail)


class Refused(TurnwrightError):
    """The request was refused and changed nothing."""

    code: ClassVar[str]

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.extra = extra
        """Further members of the problem answer: `run_id`, `run_status`, `session_id`, `errors`."""


class NotFound(Refused):
    """There is no such thing."""

    code = "NOT_FOUND"


class Invalid(Refused):
    """The request is not valid."""

    code = "VALIDATION_FAILED"


class SessionBusy(Refused):
    """The session has an active run."""

    code = "SESSION_BUSY"


class SessionCompleted(Refused):
    """The session is closed."""

    code = "SESSION_COMPLETED"


class SessionNotAwaitingUser(Refused):
    """The session's active run does not wait for the user."""

    code = "SESSION_NOT_AWAITING_USER"


class RunNotWaiting(Refused):
    """The run does not wait for the user."""

    code = "RUN_NOT_WAITING"


class QuestionMismatch(Refused):
    """That is not the open question."""

    code = "QUESTION_MISMATCH"


class QuestionAnswered(Refused):
    """That question was already answered with something else."""

    code = "QUESTION_ANSWERED"


class ApprovalResolved(Refused):
    """The approval was already decided the other way, or has expired."""

    code = "APPROVAL_RESOLVED"


class RunNotRetryable(Refused):
    """The run cannot be retried."""

    code = "RUN_NOT_RETRYABLE"


class RunTerminal(Refused):
    """The run has ended."""

    code = "RUN_TERMINAL"


class IdempotencyKeyReused(Refused):
    """That Idempotency-Key was used for another request."""

    code = "IDEMPOTENCY_KEY_REUSED"


class Unavailable(TurnwrightError):
    """The database cannot be reached in time."""


class Fenced(TurnwrightError):
    """This execution no longer owns the run."""


class Held(TurnwrightError):
    """Another execution owns the run."""

    def __init__(self, execution_id: str) -> None:
        super().__init__()
        self.execution_id = execution_id


class UnknownEvent(TurnwrightError):
    """The log holds an event that this version does not know."""


class ModelError(TurnwrightError):
    """A model round gave no response.

    `detail` is for people and may quote the provider; `label` is free of content (a class of
    error and a status code), and is all that Temporal is ever told.
    """

    reason: ClassVar[FailureReason] = "model_error"
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str, *, label: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.label = label
        self.retry_after = retry_after
        """Seconds the provider asked to wait, where it did."""


class ModelUnavailable(ModelError):
    """The provider could not answer now: overload, rate limit, broken connection, cut stream."""

    retryable = True


class ModelRejected(ModelError):
    """The provider will never accept this request: wrong key, model or setting."""


class ModelRefused(ModelError):
    """The model declined, or a content filter did."""

    reason = "model_refused"


class ContextOverflow(ModelError):
    """The conversation is longer than the model's context window."""

    reason = "context_overflow"
