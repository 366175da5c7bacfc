"""What passes between activities and the store."""

import pytest
from pydantic import ValidationError

from turnwright.domain.ports import Owner


def test_values_of_the_domain_are_immutable_and_refuse_what_they_do_not_know() -> None:
    owner = Owner(run_id="run_1", execution_id="execution-1")
    with pytest.raises(ValidationError, match="frozen"):
        owner.run_id = "run_2"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Owner.model_validate({"run_id": "run_1", "execution_id": "x", "lease": 1})
