import pytest

from daiku_infra import preflight


@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:5000"])
def test_a_stack_that_cannot_ask_aws_is_told_which_variables_the_laptop_world_sets(
    monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    def refused() -> preflight.Offer:
        raise RuntimeError("no valid credential sources found")

    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setattr(preflight, "_asked", refused)

    with pytest.raises(preflight.PreflightError, match="no valid credential sources") as error:
        preflight.ask()

    is_told = "`daiku local exec -- pulumi up --stack local`" in str(error.value)
    assert is_told is not bool(endpoint)
