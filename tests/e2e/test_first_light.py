"""The demo's path, stage by stage, each judged from outside: by AWS and by the API server.

The stages build on each other and run in this order.
"""

import json
import os
import random
import re
import signal
import time
import urllib.request
from pathlib import Path
from typing import Any

import boto3.session
import pytest
from tests.e2e.conftest import ROOT, Journey, wait

from daiku_local import inventory
from daiku_local.processes import is_alive
from daiku_local.world import Process, load

pytestmark = pytest.mark.e2e
CLUSTER = "daiku-local"


def _client(journey: Journey, service: str) -> Any:
    session = boto3.session.Session("local", "local", region_name=journey.here.region)
    return session.client(service, endpoint_url=journey.here.aws_endpoint)


def _pool_instances(journey: Journey) -> list[dict[str, Any]]:
    filters = [
        {"Name": "tag-key", "Values": ["karpenter.sh/nodepool"]},
        {"Name": f"tag:kubernetes.io/cluster/{CLUSTER}", "Values": ["owned"]},
        {"Name": "instance-state-name", "Values": ["pending", "running", "shutting-down"]},
    ]
    pages = _client(journey, "ec2").get_paginator("describe_instances").paginate(Filters=filters)
    return [i for page in pages for r in page["Reservations"] for i in r["Instances"]]


def _scale(journey: Journey, replicas: int) -> None:
    journey.run("kubectl", "scale", "deployment/inflate", f"--replicas={replicas}")


def _wait_running(journey: Journey, replicas: int, seconds: float = 240) -> float:
    def all_run() -> bool:
        seen = journey.observer.look()
        return seen.running == seen.pods == replicas

    return wait(f"{replicas} pods running", all_run, seconds)


def test_preview_shows_what_would_be_built_and_builds_nothing(journey: Journey) -> None:
    journey.run("pulumi", "stack", "select", "--create", "local", "--non-interactive")

    text = journey.run("pulumi", "preview", "--stack", "local", "--diff", "--non-interactive")

    for kind in ("aws:ec2/vpc:Vpc", "aws:eks/cluster:Cluster", "karpenter.sh/v1:NodePool"):
        assert kind in text
    after = inventory.take(journey.here.aws_endpoint, journey.here.region)
    assert inventory.difference(journey.before, after) == {}


def test_up_builds_the_vpc_the_cluster_and_the_wiring(journey: Journey) -> None:
    journey.run("pulumi", "up", "--stack", "local", "--yes", "--skip-preview", "--non-interactive")

    ec2, eks = _client(journey, "ec2"), _client(journey, "eks")
    discovery = {"Name": "tag:karpenter.sh/discovery", "Values": [CLUSTER]}
    subnets = ec2.describe_subnets(Filters=[discovery])["Subnets"]
    assert len({subnet["AvailabilityZone"] for subnet in subnets}) == len(subnets) == 3
    assert len(ec2.describe_security_groups(Filters=[discovery])["SecurityGroups"]) == 1
    cluster = eks.describe_cluster(name=CLUSTER)["cluster"]
    assert cluster["status"] == "ACTIVE"
    assert cluster["endpoint"] == journey.here.kubernetes_endpoint
    entries = eks.list_access_entries(clusterName=CLUSTER)["accessEntries"]
    assert len(entries) >= 2, "one for the system nodes, one for the controller's nodes"
    providers = _client(journey, "iam").list_open_id_connect_providers()
    assert len(providers["OpenIDConnectProviderList"]) == 1


def test_up_again_changes_nothing(journey: Journey) -> None:
    journey.run("pulumi", "preview", "--stack", "local", "--expect-no-changes", "--non-interactive")


def test_secrets_are_not_in_the_state_in_clear(journey: Journey) -> None:
    kubeconfig = json.loads(journey.here.kubeconfig.read_text())
    secret = kubeconfig["users"][0]["user"]["client-key-data"]

    state = journey.run("pulumi", "stack", "export", "--stack", "local")

    assert secret not in state


def test_the_controller_runs_under_its_own_service_account_and_role(journey: Journey) -> None:
    def is_ready() -> bool:
        pods: Any = journey.kubectl("get", "pods", "-n", "kube-system")["items"]
        conditions = [c for pod in pods for c in pod["status"].get("conditions", [])]
        return bool(pods) and any(
            c["type"] == "Ready" and c["status"] == "True" for c in conditions
        )

    wait("the controller's pod ready", is_ready, 60)
    environment = _environment(journey.controllers()[0])
    assert "AWS_WEB_IDENTITY_TOKEN_FILE" in environment
    assert "AWS_ACCESS_KEY_ID" not in environment
    nodepool: Any = journey.kubectl("get", "nodepool", "default")
    wait("NodePool default Ready", lambda: _is_ready(journey, "nodepool/default"), 60)
    wait("EC2NodeClass default Ready", lambda: _is_ready(journey, "ec2nodeclass/default"), 60)
    assert nodepool["spec"]["template"]["spec"]["nodeClassRef"]["kind"] == "EC2NodeClass"


def _environment(pid: int) -> set[str]:
    with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - a kernel file, not a path of ours
        return {entry.split(b"=")[0].decode() for entry in file.read().split(b"\0")}


def _is_ready(journey: Journey, name: str) -> bool:
    found: Any = journey.kubectl("get", name)
    conditions = found.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def test_five_pending_pods_become_instances_nodes_and_running_pods(journey: Journey) -> None:
    journey.run("kubectl", "apply", "-f", str(ROOT / "examples" / "inflate.yaml"))
    assert _pool_instances(journey) == []
    journey.daiku("local", "weather", "set", "contested_pools=1")

    _scale(journey, 5)
    _wait_running(journey, 5)

    instances = _pool_instances(journey)
    assert instances
    nodes: Any = journey.kubectl("get", "nodes", "-l", "karpenter.sh/nodepool")["items"]
    provider_ids = {node["spec"]["providerID"].rsplit("/", 1)[-1] for node in nodes}
    assert provider_ids == {instance["InstanceId"] for instance in instances}
    pods: Any = journey.kubectl("get", "pods", "-l", "app=inflate")["items"]
    assert {p["spec"]["nodeName"] for p in pods} <= {n["metadata"]["name"] for n in nodes}


def test_doctor_finds_nothing_in_the_stack_of_the_demo_while_pods_run(journey: Journey) -> None:
    said = journey.run("daiku", "doctor", "--stack", "local", "--strict")

    source, *rest = said.splitlines()
    assert re.fullmatch(r"note: what fails .* is from the controller, \d+ s ago", source), said
    assert rest == ["Nothing found."]


def test_with_the_cheapest_pool_sold_out_the_same_call_took_the_next(journey: Journey) -> None:
    instances = {i["InstanceId"]: i for i in _pool_instances(journey)}
    tags = [{t["Key"]: t["Value"] for t in i["Tags"]} for i in instances.values()]
    ids = sorted({each["aws:ec2:fleet-id"] for each in tags})

    fleets = _client(journey, "ec2").describe_fleets(FleetIds=ids)["Fleets"]

    for fleet in fleets:
        (refused,) = fleet["Errors"]
        assert refused["ErrorCode"] == "InsufficientInstanceCapacity"
        first = refused["LaunchTemplateAndOverrides"]["Overrides"]
        taken = fleet["Instances"][0]["LaunchTemplateAndOverrides"]["Overrides"]
        pool = "InstanceType", "AvailabilityZone"
        assert [first[name] for name in pool] != [taken[name] for name in pool]
    launched = [i for fleet in fleets for group in fleet["Instances"] for i in group["InstanceIds"]]
    assert set(launched) == set(instances)
    claims: Any = journey.kubectl("get", "nodeclaims")["items"]
    assert len(fleets) == len(claims), "one call for each claim"
    assert {f["ClientToken"] for f in fleets} == {f"{c['metadata']['uid']}-0" for c in claims}
    assert {i["InstanceLifecycle"] for i in instances.values()} == {"spot"}
    journey.daiku("local", "weather", "fair")


def test_instances_carry_their_profile_group_and_tags(journey: Journey) -> None:
    instance = _pool_instances(journey)[0]

    tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert tags["karpenter.sh/nodepool"] == "spot", "what costs least"
    assert tags["eks:eks-cluster-name"] == CLUSTER
    assert instance["IamInstanceProfile"]["Arn"]
    groups = _client(journey, "ec2").describe_security_groups(
        GroupIds=[group["GroupId"] for group in instance["SecurityGroups"]]
    )["SecurityGroups"]
    discovery = {"Key": "karpenter.sh/discovery", "Value": CLUSTER}
    assert all(discovery in group["Tags"] for group in groups)
    assert instance["MetadataOptions"]["HttpTokens"] == "required"


def test_killing_the_controller_in_the_middle_of_a_scale_out_loses_nothing(
    journey: Journey,
) -> None:
    before = {instance["InstanceId"] for instance in _pool_instances(journey)}
    _scale(journey, 100)
    wait(
        "a new instance",
        lambda: {i["InstanceId"] for i in _pool_instances(journey)} > before,
        60,
        0.05,
    )
    for pid in journey.controllers():
        os.kill(pid, signal.SIGKILL)

    _wait_running(journey, 100)

    claims: Any = journey.kubectl("get", "nodeclaims")["items"]
    assert len(claims) == len(_pool_instances(journey)), "one instance for each claim, and no other"


def test_killed_again_and_again_at_random_moments_it_leaves_nothing_behind(
    journey: Journey, request: pytest.FixtureRequest
) -> None:
    """`--kills 20` kills it twenty times; the moments follow from the number of the kill."""
    for kill in range(request.config.getoption("--kills")):
        rng = random.Random(kill)
        wanted = rng.choice((0, 3, 12, 40))
        _scale(journey, wanted)
        time.sleep(rng.uniform(0, 12))
        for pid in journey.controllers():
            os.kill(pid, signal.SIGKILL)
        if rng.random() < 0.5:
            # Again, while it is still finding out where it stood.
            time.sleep(rng.uniform(1, 5))
            for pid in filter(_lives, journey.controllers()):
                os.kill(pid, signal.SIGKILL)
        _wait_running(journey, wanted)

    wait(
        "as many instances as claims",
        lambda: (
            len(_pool_instances(journey)) == len(journey.kubectl("get", "nodeclaims")["items"])  # type: ignore[arg-type]
        ),
        120,
    )


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_the_leader_serves_fewer_than_200_series_on_ten_nodes(
    journey: Journey, tmp_path: Path
) -> None:
    """After all that has happened here: launches that were refused, throttling, two leaders that were killed."""
    file = tmp_path / "apart.json"
    file.write_text(json.dumps(_apart(10)))
    journey.run("kubectl", "apply", "-f", str(file))

    def stand_on_ten() -> bool:
        pods: Any = journey.kubectl("get", "pods", "-l", "app=apart")["items"]
        running = [p for p in pods if p["status"].get("phase") == "Running"]
        return len({p["spec"]["nodeName"] for p in running}) == 10

    wait("ten pods on ten nodes", stand_on_ten, 180)
    leaders: list[str] = []

    def leads() -> bool:
        texts = [_metrics(pid) for pid in journey.controllers()]
        leaders[:] = [text for text in texts if "daiku_leader 1.0" in text]
        return bool(leaders)

    wait("one of the replicas leads again", leads, 60)
    series = [line for line in leaders[0].splitlines() if line and not line.startswith("#")]
    print(f"{len(series)} series")  # noqa: T201 - a figure of docs/performance.md
    assert len(series) < 200, leaders[0]
    journey.run("kubectl", "delete", "deployment", "apart")


def _apart(replicas: int) -> dict[str, Any]:
    """A Deployment each of whose pods wants a node of its own."""
    selected = {"matchLabels": {"app": "apart"}}
    alone = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selected}
    pod = {
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}
        },
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "pause", "resources": {"requests": {"cpu": "100m"}}}],
    }
    template = {"metadata": {"labels": {"app": "apart"}}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "apart"},
        "spec": {"replicas": replicas, "selector": selected, "template": template},
    }


def _metrics(pid: int) -> str:
    if not _lives(pid):
        return ""
    with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - a kernel file, not a path of ours
        pairs = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    url = f"http://{pairs[b'POD_IP'].decode()}:8080/metrics"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        # It has just been started.
        return ""


def test_scaling_to_nothing_takes_every_node_and_instance_away(journey: Journey) -> None:
    _scale(journey, 0)

    wait("no pod, node or instance left", lambda: _is_empty(journey), 240)
    wait("no claim left", lambda: journey.kubectl("get", "nodeclaims")["items"] == [], 20)


def _is_empty(journey: Journey) -> bool:
    seen = journey.observer.look()
    return seen.pods == 0 and not seen.nodes


def test_destroy_with_nodes_still_running_leaves_nothing_behind(journey: Journey) -> None:
    _scale(journey, 3)
    _wait_running(journey, 3)

    journey.run(
        "pulumi", "destroy", "--stack", "local", "--yes", "--skip-preview", "--non-interactive"
    )

    assert _pool_instances(journey) == []
    after = inventory.take(journey.here.aws_endpoint, journey.here.region)
    assert inventory.difference(journey.before, after) == {}


def test_down_leaves_no_process(journey: Journey) -> None:
    processes = load(journey.folder).processes
    agents = [json.loads(p.read_text()) for p in (journey.folder / "workloads").glob("*.json")]
    workloads = [
        Process(**{k: a[k] for k in ("name", "pid", "started_ticks", "log")}) for a in agents
    ]

    journey.daiku("local", "down")

    time.sleep(0.2)
    assert [p.name for p in (*processes, *workloads) if is_alive(p)] == []
    assert not journey.folder.exists()
