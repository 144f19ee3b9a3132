"""What a kubelet makes of its settings and its machine."""

from types import MappingProxyType
from typing import Any

import pytest

from daiku_local.agent import kubelet
from daiku_local.agent.instance_types import InstanceType
from daiku_local.agent.user_data import NodeConfig

GIB = 2**30
MIB = 2**20


def _config(*flags: str, raid0: bool = False, **kubelet_config: Any) -> NodeConfig:
    return NodeConfig(
        cluster_name="demo",
        api_server_endpoint="https://127.0.0.1:6443",
        certificate_authority="QUJD",
        cidr="10.100.0.0/16",
        kubelet_config=kubelet_config,
        kubelet_flags=flags,
        raid0=raid0,
    )


def _machine(
    cpu_count: int = 2, memory_gib: int = 8, pod_count: int = 29, **more: Any
) -> InstanceType:
    return InstanceType(
        name="m5.large",
        architecture="amd64",
        cpu_count=cpu_count,
        memory_bytes=memory_gib * GIB,
        pod_count=pod_count,
        **more,
    )


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([], {}, id="no flag, no label"),
        pytest.param(["--node-labels=a=1,b=2"], {"a": "1", "b": "2"}, id="several in one flag"),
        pytest.param(['--node-labels="a=1,b=2"'], {"a": "1", "b": "2"}, id="in quotes"),
        pytest.param(["--node-labels", "a=1"], {"a": "1"}, id="flag and value apart"),
        pytest.param(["--node-labels=a="], {"a": ""}, id="an empty value"),
        pytest.param(
            ["--node-labels=a=1,b=1", "--node-labels=b=2"],
            {"a": "1", "b": "2"},
            id="a later flag wins label by label",
        ),
        pytest.param(
            ["--v=2 --node-labels=a=1 --max-pods=5"], {"a": "1"}, id="several flags in one string"
        ),
    ],
)
def test_node_labels_come_from_the_flags(flags: list[str], expected: dict[str, str]) -> None:
    assert kubelet.labels(_config(*flags)) == expected


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        pytest.param("team", True, id="without a domain"),
        pytest.param("karpenter.sh/nodepool", True, id="of another domain"),
        pytest.param(
            "karpenter.k8s.aws/instance-cpu", True, id="a domain that only looks reserved"
        ),
        pytest.param("node.kubernetes.io/role", True, id="of the kubelet's own domain"),
        pytest.param("x.kubelet.kubernetes.io/role", True, id="below the kubelet's own domain"),
        pytest.param("topology.kubernetes.io/zone", True, id="a well-known node label"),
        pytest.param("kubernetes.io/role", False, id="of kubernetes.io"),
        pytest.param("node-role.kubernetes.io/worker", False, id="a role"),
        pytest.param("node-restriction.kubernetes.io/x", False, id="of node-restriction"),
        pytest.param("k8s.io/x", False, id="of k8s.io"),
        pytest.param("scheduling.k8s.io/x", False, id="below k8s.io"),
    ],
)
def test_a_kubelet_ends_itself_over_labels_that_are_not_its_own(label: str, allowed: bool) -> None:
    config = _config(f"--node-labels={label}=x")

    if allowed:
        assert kubelet.labels(config) == {label: "x"}
    else:
        with pytest.raises(kubelet.KubeletRefusedError, match=label):
            kubelet.labels(config)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(_config(), [], id="none"),
        pytest.param(
            _config(registerWithTaints=[{"key": "a", "value": "1", "effect": "NoSchedule"}]),
            [{"key": "a", "value": "1", "effect": "NoSchedule"}],
            id="of the config",
        ),
        pytest.param(
            _config("--register-with-taints=a=1:NoSchedule,b:NoExecute"),
            [
                {"key": "a", "value": "1", "effect": "NoSchedule"},
                {"key": "b", "effect": "NoExecute"},
            ],
            id="of the flag",
        ),
        pytest.param(
            _config("--register-with-taints=b:NoExecute", registerWithTaints=[{"key": "a"}]),
            [{"key": "b", "effect": "NoExecute"}],
            id="the flag replaces the config",
        ),
    ],
)
def test_taints_come_from_the_flag_or_the_config(
    config: NodeConfig, expected: list[dict[str, str]]
) -> None:
    assert kubelet.taints(config) == expected


@pytest.mark.parametrize("flag", ["--node-labels=a", "--node-labels='a=1"])
def test_a_label_flag_that_cannot_be_read_stops_the_kubelet(flag: str) -> None:
    with pytest.raises(kubelet.KubeletRefusedError):
        kubelet.labels(_config(flag))


def test_a_taint_flag_without_an_effect_stops_the_kubelet() -> None:
    with pytest.raises(kubelet.KubeletRefusedError, match="'a=1'"):
        kubelet.taints(_config("--register-with-taints=a=1"))


def test_capacity_is_the_machines_less_what_never_reaches_the_kernel() -> None:
    resources = kubelet.resources(_config(), _machine(), 20 * GIB)

    assert resources.capacity == {
        "cpu": "2",
        "memory": f"{int(8 * GIB * 0.96) // 1024}Ki",
        "ephemeral-storage": str(20 * GIB),
        "pods": "29",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }


@pytest.mark.parametrize(
    ("cpu_count", "reserved_millis"),
    [(1, 60), (2, 70), (4, 80), (8, 90), (16, 110), (48, 190), (96, 310)],
)
def test_reserved_cpu_falls_in_steps(cpu_count: int, reserved_millis: int) -> None:
    """The steps are 6 %, 1 %, 0.5 % and 0.25 %."""
    allocatable = kubelet.resources(_config(), _machine(cpu_count), 20 * GIB).allocatable

    assert allocatable["cpu"] == f"{cpu_count * 1000 - reserved_millis}m"


def test_allocatable_keeps_nodeadms_defaults_free() -> None:
    allocatable = kubelet.resources(_config(), _machine(pod_count=29), 20 * GIB).allocatable

    kept = (11 * 29 + 255 + 100) * MIB
    assert allocatable["memory"] == f"{(int(8 * GIB * 0.96) - kept) // 1024}Ki"
    assert allocatable["ephemeral-storage"] == str(20 * GIB - GIB - 2 * GIB)
    assert allocatable["pods"] == "29"


def test_reservations_replace_the_defaults_key_by_key() -> None:
    config = _config(kubeReserved={"cpu": "100m"}, systemReserved={"cpu": "50m", "memory": "200Mi"})

    allocatable = kubelet.resources(config, _machine(), 20 * GIB).allocatable

    kept = (11 * 29 + 255 + 200 + 100) * MIB
    assert allocatable["cpu"] == "1850m"
    assert allocatable["memory"] == f"{(int(8 * GIB * 0.96) - kept) // 1024}Ki"


@pytest.mark.parametrize(
    ("threshold", "kept"),
    [
        pytest.param("500Mi", 500 * MIB, id="an amount"),
        pytest.param("10%", -(-int(8 * GIB * 0.96) * 10 // 100), id="a part of capacity"),
        pytest.param("100%", 0, id="100 percent watches nothing"),
    ],
)
def test_eviction_thresholds_are_kept_free(threshold: str, kept: int) -> None:
    config = _config(evictionHard={"memory.available": threshold}, kubeReserved={"memory": "0"})

    allocatable = kubelet.resources(config, _machine(), 20 * GIB).allocatable

    assert allocatable["memory"] == f"{(int(8 * GIB * 0.96) - kept) // 1024}Ki"


@pytest.mark.parametrize(
    ("config", "pods"),
    [
        pytest.param(_config(maxPods=110), "110", id="as the config says"),
        pytest.param(_config("--max-pods=5", maxPods=110), "5", id="a flag goes over the config"),
        pytest.param(_config(podsPerCore=3), "6", id="so many per core"),
        pytest.param(_config(podsPerCore=30), "29", id="so many per core, but no more than at all"),
        pytest.param(_config(podsPerCore=0), "29", id="none per core means no such limit"),
    ],
)
def test_the_number_of_pods_can_be_set(config: NodeConfig, pods: str) -> None:
    assert kubelet.resources(config, _machine(), 20 * GIB).capacity["pods"] == pods


def test_joined_local_disks_replace_the_root_volume_for_pods() -> None:
    machine = _machine(local_storage_bytes=300 * 10**9)

    joined = kubelet.resources(_config(raid0=True), machine, 20 * GIB)
    apart = kubelet.resources(_config(), machine, 20 * GIB)

    assert joined.capacity["ephemeral-storage"] == str(300 * 10**9)
    assert apart.capacity["ephemeral-storage"] == str(20 * GIB)


def test_devices_are_resources() -> None:
    machine = _machine(devices=MappingProxyType({"nvidia.com/gpu": 4}))

    resources = kubelet.resources(_config(), machine, 20 * GIB)

    assert resources.capacity["nvidia.com/gpu"] == "4"
    assert resources.allocatable["nvidia.com/gpu"] == "4"


def test_a_reservation_beyond_the_machine_leaves_nothing() -> None:
    config = _config(kubeReserved={"memory": "64Gi"})

    assert kubelet.resources(config, _machine(), 20 * GIB).allocatable["memory"] == "0Ki"


@pytest.mark.parametrize(
    "kubelet_config", [{"maxPods": "many"}, {"kubeReserved": {"cpu": "one core"}}]
)
def test_settings_that_cannot_be_read_stop_the_kubelet(kubelet_config: dict[str, Any]) -> None:
    with pytest.raises(kubelet.KubeletRefusedError):
        kubelet.resources(_config(**kubelet_config), _machine(), 20 * GIB)
