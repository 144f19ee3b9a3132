"""Boot: what a pass does, and what spoils no other pass."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.local.agent.in_memory import (
    AUTHORITY,
    ENDPOINT,
    ROLE,
    ApiServer,
    Ec2,
    user_data_of,
)

from daiku_local.agent import node
from daiku_local.agent.boot import Boot, Cluster
from daiku_local.agent.kubernetes_api import KubernetesError


@pytest.fixture
def ec2() -> Ec2:
    return Ec2()


@pytest.fixture
def api() -> ApiServer:
    return ApiServer()


@pytest.fixture
def boot(ec2: Ec2, api: ApiServer, tmp_path: Path) -> Boot:
    return _boot(ec2, api, tmp_path)


def _boot(ec2: Ec2, api: ApiServer, folder: Path) -> Boot:
    cluster = Cluster(
        endpoint=ENDPOINT,
        certificate_authority=AUTHORITY,
        region="us-west-2",
        kubelet_version="v1.34.4",
    )
    return Boot(
        aws=ec2, kubernetes=api, cluster=cluster, folder=folder, boot_delay_seconds=lambda: 2.0
    )


def _status(boot: Boot) -> Any:
    return json.loads((boot.folder / "agent-status.json").read_text())["instances"]


def test_an_instance_joins_after_its_boot_delay(boot: Boot, ec2: Ec2, api: ApiServer) -> None:
    ec2.run("i-1", root_volume_id="vol-1")

    boot.step(10.0)
    assert api.nodes == {}
    assert _status(boot)["i-1"]["state"] == "booting"
    boot.step(11.9)
    assert api.nodes == {}
    boot.step(12.0)

    assert list(api.nodes) == ["i-1.internal"]
    assert _status(boot)["i-1"] == {"state": "joined", "node": "i-1.internal", "reason": ""}
    capacity = api.nodes["i-1.internal"]["status"]["capacity"]
    assert capacity["ephemeral-storage"] == str(50 * 2**30)


def test_the_delay_begins_when_the_instance_runs(boot: Boot, ec2: Ec2, api: ApiServer) -> None:
    ec2.run("i-1", state="pending")
    boot.step(10.0)
    boot.step(20.0)
    ec2.change("i-1", "running")

    boot.step(21.0)
    assert api.nodes == {}
    boot.step(23.0)

    assert list(api.nodes) == ["i-1.internal"]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        pytest.param("", "no user data", id="no user data"),
        pytest.param("!", "not base64", id="user data that cannot be read"),
        pytest.param(user_data_of(endpoint="https://x"), "names the API server https://x", id="endpoint"),
        pytest.param(user_data_of(authority=b"x"), "another certificate authority", id="authority"),
        pytest.param(
            user_data_of(kubelet={"flags": ["--node-labels=k8s.io/x=y"]}),
            "--node-labels sets k8s.io/x",
            id="labels that are not the kubelet's",
        ),
        pytest.param(
            user_data_of(kubelet={"config": {"maxPods": "many"}}),
            "kubelet config cannot be used",
            id="kubelet settings that cannot be read",
        ),
    ],
)  # fmt: skip
def test_what_its_user_data_forbids_never_joins(
    boot: Boot, ec2: Ec2, api: ApiServer, document: str, reason: str
) -> None:
    ec2.run("i-1", document=document)

    for now in (10.0, 12.0, 14.0):
        boot.step(now)

    assert api.nodes == {}
    assert _status(boot)["i-1"]["state"] == "refused"
    assert reason in _status(boot)["i-1"]["reason"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"access": {}}, "has no access entry in cluster 'demo'", id="no access entry"),
        pytest.param({"access": {ROLE: "STANDARD"}}, "an access entry of type STANDARD", id="type"),
        pytest.param({"roles": {}}, "does not exist or holds no role", id="no role"),
    ],
)
def test_what_its_role_may_not_do_yet_it_waits_for(
    boot: Boot, ec2: Ec2, api: ApiServer, change: dict[str, Any], reason: str
) -> None:
    ec2.run("i-1")
    before = {name: getattr(ec2, name) for name in change}
    for name, value in change.items():
        setattr(ec2, name, value)

    boot.step(10.0)
    boot.step(12.0)
    assert _status(boot)["i-1"]["state"] == "waiting"
    assert reason in _status(boot)["i-1"]["reason"]
    for name, value in before.items():
        setattr(ec2, name, value)
    boot.step(13.0)

    assert list(api.nodes) == ["i-1.internal"]


def test_another_clusters_name_gives_no_access(boot: Boot, ec2: Ec2, api: ApiServer) -> None:
    ec2.run("i-1", document=user_data_of(cluster={"name": "other"}))

    boot.step(10.0)
    boot.step(12.0)

    assert api.nodes == {}
    assert "in cluster 'other'" in _status(boot)["i-1"]["reason"]


def test_an_instance_without_a_profile_waits(boot: Boot, ec2: Ec2) -> None:
    ec2.run("i-1", profile_arn=None)

    boot.step(10.0)
    boot.step(12.0)

    assert "no instance profile" in _status(boot)["i-1"]["reason"]


def test_access_is_asked_once_per_pass_for_all_instances(boot: Boot, ec2: Ec2) -> None:
    for number in range(5):
        ec2.run(f"i-{number}")

    boot.step(10.0)
    boot.step(12.0)

    assert ec2.asked == ["profile"]


def test_one_instance_that_aws_cannot_explain_holds_up_no_other(
    boot: Boot, ec2: Ec2, api: ApiServer
) -> None:
    ec2.run("i-1")
    ec2.run("i-2")
    ec2.broken = {"i-1"}

    boot.step(10.0)
    boot.step(12.0)

    assert list(api.nodes) == ["i-2.internal"]
    assert _status(boot)["i-1"]["reason"] == "slow down"
    ec2.broken = set()
    boot.step(13.0)
    assert sorted(api.nodes) == ["i-1.internal", "i-2.internal"]


def test_a_node_that_the_api_server_refuses_never_joins(
    boot: Boot, ec2: Ec2, api: ApiServer
) -> None:
    ec2.run("i-1")
    api.refusal = KubernetesError(422, "Invalid", "Invalid: a label")

    boot.step(10.0)
    boot.step(12.0)

    assert _status(boot)["i-1"]["reason"] == "the API server refuses its Node: Invalid: a label"


def test_an_api_server_that_is_away_is_tried_again(boot: Boot, ec2: Ec2, api: ApiServer) -> None:
    ec2.run("i-1")
    boot.step(10.0)
    api.refusal = KubernetesError(0, "Unreachable", "no answer")

    with pytest.raises(KubernetesError):
        boot.step(12.0)
    api.refusal = None
    boot.step(13.0)

    assert list(api.nodes) == ["i-1.internal"]


@pytest.mark.parametrize("order", ["shutting-down", "gone"])
def test_the_node_of_an_instance_that_is_gone_is_deleted(
    boot: Boot, ec2: Ec2, api: ApiServer, order: str
) -> None:
    ec2.run("i-1")
    ec2.run("i-2")
    boot.step(10.0)
    boot.step(12.0)

    if order == "gone":
        ec2.forget("i-1")
        boot.step(13.0)
        assert len(api.nodes) == 2, "EC2 may have forgotten it for a moment only"
    else:
        ec2.change("i-1", "shutting-down")
    boot.step(14.0)

    assert list(api.nodes) == ["i-2.internal"]


def test_a_stopped_instance_keeps_its_node(boot: Boot, ec2: Ec2, api: ApiServer) -> None:
    ec2.run("i-1")
    boot.step(10.0)
    boot.step(12.0)

    ec2.change("i-1", "stopped")
    boot.step(13.0)
    boot.step(14.0)

    assert list(api.nodes) == ["i-1.internal"]


def test_a_node_that_is_held_is_deleted_once(boot: Boot, ec2: Ec2, api: ApiServer) -> None:
    ec2.run("i-1")
    boot.step(10.0)
    boot.step(12.0)
    api.nodes["i-1.internal"]["metadata"]["finalizers"] = ["karpenter.sh/termination"]
    ec2.change("i-1", "shutting-down")

    boot.step(13.0)
    api.nodes["i-1.internal"]["metadata"]["uid"] = "a second delete would fail here"
    boot.step(14.0)

    assert api.nodes["i-1.internal"]["metadata"]["deletionTimestamp"]


def test_nodes_of_others_are_left_alone(boot: Boot, api: ApiServer) -> None:
    for provider in ("kwok://a", "", None):
        name = f"node-{provider}"
        api.nodes[name] = {
            "metadata": {"name": name, "uid": name},
            "spec": {"providerID": provider},
        }

    boot.step(10.0)
    boot.step(11.0)

    assert len(api.nodes) == 3


def test_a_node_that_somebody_deletes_does_not_come_back_even_after_a_restart(
    boot: Boot, ec2: Ec2, api: ApiServer
) -> None:
    ec2.run("i-1")
    boot.step(10.0)
    boot.step(12.0)
    api.nodes.clear()
    boot.step(13.0)

    again = _boot(ec2, api, boot.folder)
    again.remember()
    again.step(20.0)
    again.step(30.0)

    assert api.nodes == {}


def test_a_node_that_a_killed_agent_made_is_its_instances(
    boot: Boot, ec2: Ec2, api: ApiServer
) -> None:
    ec2.run("i-1")
    provider = node.provider_id(ec2.instances[0])
    made = {"metadata": {"name": "i-1.internal", "uid": "u"}, "spec": {"providerID": provider}}
    api.nodes["i-1.internal"] = made

    boot.step(10.0)
    boot.step(12.0)

    assert _status(boot)["i-1"]["state"] == "joined"
    assert api.nodes == {"i-1.internal": made}


def test_a_name_that_another_instances_node_still_has_is_waited_for(
    boot: Boot, ec2: Ec2, api: ApiServer
) -> None:
    ec2.run("i-2", private_dns_name="shared.internal")
    old = {
        "metadata": {"name": "shared.internal", "uid": "u", "deletionTimestamp": "x"},
        "spec": {"providerID": "aws:///us-west-2a/i-1"},
    }
    api.nodes["shared.internal"] = old

    boot.step(10.0)
    boot.step(12.0)
    assert _status(boot)["i-2"]["reason"] == (
        "Node shared.internal belongs to aws:///us-west-2a/i-1"
    )
    api.nodes.clear()
    boot.step(13.0)

    assert _status(boot)["i-2"]["state"] == "joined"
