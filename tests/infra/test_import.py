"""What an import of the package costs: the SDKs of the providers wait until something of theirs is made."""

import subprocess
import sys

import pytest

SDKS = "[m for m in sys.modules if m.startswith('pulumi_') and '.' not in m]"


@pytest.mark.parametrize(
    ("program", "loaded"),
    [
        pytest.param("import daiku_infra", [], id="the package"),
        pytest.param(
            "import daiku_infra; from daiku_infra.providers import aws; aws.ec2.Vpc",
            ["pulumi_aws"],
            id="one resource",
        ),
    ],
)
def test_an_sdk_is_loaded_when_it_is_first_used_and_warns_of_nothing(
    program: str, loaded: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{program}; import sys; print({SDKS})"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(loaded)
