"""agent.json: what may be set, and what is refused."""

from pathlib import Path

import pytest

from daiku_local.agent import settings


def _write(folder: Path, text: str) -> None:
    (folder / settings.FILE_NAME).write_text(text)


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    found = settings.read(tmp_path)

    assert found.boot_delay_seconds is None, "as the weather says"
    assert found.token_refresh_seconds is None
    assert list(found.images) == ["daiku.local/controller"]
    assert found.images["daiku.local/controller"][0].endswith("/bin/daiku")


def test_what_is_set_counts_and_images_add_up(tmp_path: Path) -> None:
    _write(tmp_path, '{"boot_delay_seconds": 0, "images": {"daiku.local/x": ["sleep", 5]}}')

    found = settings.read(tmp_path)

    assert found.boot_delay_seconds == 0
    assert found.images["daiku.local/x"] == ("sleep", "5")
    assert "daiku.local/controller" in found.images


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "is no JSON", id="no JSON"),
        pytest.param("[]", "write an object", id="no object"),
        pytest.param('{"boot_delay_seconds": "2"}', "boot_delay_seconds is '2'", id="no number"),
        pytest.param('{"boot_delay_seconds": -1}', "0 or more", id="a negative number"),
        pytest.param('{"images": {"x": ["y"]}}', "begins with daiku.local/", id="another registry"),
        pytest.param('{"images": {"daiku.local/x": "y"}}', "and a list", id="no list"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_remedy(
    tmp_path: Path, text: str, message: str
) -> None:
    _write(tmp_path, text)

    with pytest.raises(settings.SettingsError, match=message):
        settings.read(tmp_path)
