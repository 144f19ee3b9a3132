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


@pytest.mark.parametrize("endpoint", [None, ""])
def test_a_stack_of_the_laptop_world_is_refused_outside_of_it_before_aws_is_asked(
    monkeypatch: pytest.MonkeyPatch, endpoint: str | None
) -> None:
    if endpoint is None:
        monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    else:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    with pytest.raises(preflight.PreflightError) as error:
        preflight.require_world("daiku.local/controller:dev")

    said = str(error.value)
    assert "AWS_ENDPOINT_URL is not set" in said
    assert "`daiku local exec -- pulumi up --stack local`" in said


@pytest.mark.parametrize(
    ("image", "endpoint"),
    [
        ("daiku.local/controller:dev", "http://127.0.0.1:5000"),
        ("registry.example.com/daiku.local/controller:1.0.0", ""),
        (None, ""),
    ],
)
def test_a_stack_is_let_through_in_the_laptop_world_or_with_an_image_of_a_registry(
    monkeypatch: pytest.MonkeyPatch, image: str | None, endpoint: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    preflight.require_world(image)
