"""What is pinned, and that a Go that runs long or badly is told well."""

import importlib.util
import os
import re
import string
from pathlib import Path

import pytest

from daiku_local import toolchain
from daiku_local.toolchain import go, pins, progress

NEEDED = {
    "etcd",
    "kube-apiserver",
    "kube-scheduler",
    "kube-controller-manager",
    "kubectl",
    "kwok",
    "pulumi",
    "pulumi-language-python",
    "pulumi-language-python-exec",
    "pulumi-resource-pulumi-python",
    "pulumi-analyzer-policy-python",
}
DIGITS = {"sha256": 64, "sha512": 128}


def test_the_pins_make_every_tool_of_the_laptop_world_once() -> None:
    names = [name for bundle in pins.bundles() for name in bundle.built_tools]

    assert sorted(names) == sorted(NEEDED)


def test_only_what_has_a_published_checksum_is_ever_downloaded() -> None:
    downloadable = {bundle.name for bundle in pins.bundles() if bundle.releases}

    assert downloadable == {"etcd", "kubernetes"}


def test_the_environment_has_the_pip_that_the_language_host_runs() -> None:
    assert importlib.util.find_spec("pip") is not None


@pytest.mark.parametrize("bundle", pins.bundles(), ids=lambda bundle: bundle.name)
def test_every_release_has_a_whole_checksum_and_makes_what_a_build_makes(
    bundle: toolchain.recipe.Bundle,
) -> None:
    for release in bundle.releases.values():
        assert release.url.startswith("https://")
        assert bundle.version in release.url
        assert len(release.digest) == DIGITS[release.algorithm]
        assert set(release.digest) <= set(string.hexdigits.lower())
        assert set(release.members.values()) >= set(bundle.built_tools)


@pytest.mark.parametrize("bundle", pins.bundles(), ids=lambda bundle: bundle.name)
def test_every_go_mod_pins_exact_versions(bundle: toolchain.recipe.Bundle) -> None:
    for build in bundle.builds:
        lines = build.files["go.mod"].splitlines()
        asked = [line for line in lines if line.startswith(("require ", "replace "))]

        assert asked
        assert all(re.search(r" v\d+\.\d+\.\d+\S*$", line) for line in asked)


def test_a_long_step_says_every_few_seconds_that_it_lives() -> None:
    lines: list[str] = []

    with progress.heartbeat(lines.append, lambda seconds: f"{seconds:.1f} s", seconds=0.01):
        while len(lines) < 3:
            pass

    assert all(line.endswith(" s") for line in lines)


def test_what_the_user_set_for_go_does_not_change_what_is_built() -> None:
    theirs = {"GOOS": "plan9", "GOFLAGS": "-tags=other", "GOPROXY": "https://mirror.example"}

    environment = go.find("thing", theirs).environment

    assert "GOOS" not in environment
    assert environment["GOFLAGS"] == "-mod=mod"
    assert environment["GOTOOLCHAIN"] == "local"
    assert environment["GOPROXY"] == "https://mirror.example"


def test_a_module_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    offline = {**os.environ, "GOPROXY": "off", "GOMODCACHE": str(tmp_path / "cache")}
    module = "example.test/nothing@v1.0.0"

    with pytest.raises(toolchain.ToolchainError, match=re.escape(module)) as caught:
        go.module_folder(go.find("thing", offline), module, tool="thing", folder=tmp_path)

    assert "GOPROXY=off" in str(caught.value)


@pytest.mark.parametrize("minor", pins.KUBERNETES)
def test_every_pinned_minor_version_of_kubernetes_can_be_asked_for(
    minor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(toolchain.VARIABLE, minor)

    assert toolchain.kubernetes_version() == minor
    assert pins.bundles(minor)[-1].version.startswith(f"{minor}.")


def test_a_version_of_kubernetes_that_is_not_pinned_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(toolchain.VARIABLE, "1.19")

    with pytest.raises(toolchain.ToolchainError, match=r"(?s)1\.19.*1\.34, 1\.35, 1\.36, 1\.37"):
        toolchain.kubernetes_version()


@pytest.mark.parametrize(("runs", "release"), [("1.34", "1.34.4"), (None, "1.37.2")])
def test_a_world_that_runs_is_given_the_tools_of_its_version_and_a_new_one_those_asked_for(
    runs: str | None, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def install(bundles: tuple[toolchain.recipe.Bundle, ...], *_others: object) -> None:
        made.extend(bundle.version for bundle in bundles if bundle.name == "kubernetes")

    monkeypatch.setenv(toolchain.VARIABLE, "1.37")
    monkeypatch.setattr(toolchain, "install", install)

    toolchain.ensure(kubernetes=runs)

    assert made == [release]
