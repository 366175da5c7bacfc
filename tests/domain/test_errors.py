"""What every error says, to people and to programs."""

import pytest

from turnwright.domain import errors


def tree(root: type[errors.TurnwrightError]) -> list[type[errors.TurnwrightError]]:
    below = [x for child in root.__subclasses__() for x in tree(child)]
    return [root, *(x for x in below if x.__module__ == errors.__name__)]


def test_an_error_without_words_says_what_its_class_says() -> None:
    assert errors.UnknownEvent().detail.startswith("The log holds an event")
    assert str(errors.TurnwrightError("Just so.")) == "Just so."


@pytest.mark.parametrize("refusal", tree(errors.Refused)[1:])
def test_a_refusal_has_a_code_of_the_contract_and_carries_what_helps(
    refusal: type[errors.Refused],
) -> None:
    error = refusal(run_id="run_1", run_status="running")
    assert error.code.isupper()
    assert error.extra == {"run_id": "run_1", "run_status": "running"}


def test_no_two_refusals_share_a_code() -> None:
    codes = [x.code for x in tree(errors.Refused)[1:] if issubclass(x, errors.Refused)]
    assert len(set(codes)) == len(codes)


def test_the_tree_at_the_top_of_the_file_is_drawn_from_life() -> None:
    assert errors.__doc__ is not None
    drawn = {word for line in errors.__doc__.splitlines() for word in line.split()}
    assert {error.__name__ for error in tree(errors.TurnwrightError)} <= drawn


def test_a_model_error_tells_temporal_its_label_alone() -> None:
    error = errors.ModelUnavailable("quoting the user", label="HTTP 429", retry_after=2.5)
    assert (error.label, error.retry_after, error.retryable) == ("HTTP 429", 2.5, True)
    assert error.detail == "quoting the user"
    assert not errors.ModelRejected("no", label="HTTP 401").retryable


def test_who_holds_a_run_is_named() -> None:
    assert errors.Held("execution-1").execution_id == "execution-1"
