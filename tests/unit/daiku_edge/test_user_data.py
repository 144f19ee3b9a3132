"""What a new machine is told, whole, and how it is merged with what the user gives.

The whole texts are files in user_data/, reviewed as such. After a change that is meant to alter them: GOLDEN=write, and
read the difference.
"""

import base64
import email
import email.policy
import os
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from tests.unit.daiku_edge import aws_facts

from daiku.cloud import errors
from daiku.cloud.aws import user_data
from daiku.cloud.aws.user_data import Boot, bottlerocket, node_labels, render
from daiku.model.taints import Taint

HERE = Path(__file__).parent / "user_data"
BOOT = Boot(
    cluster=aws_facts.CLUSTER,
    family="AL2023",
    user_data="",
    labels={"karpenter.sh/nodepool": "default", "team": "payments"},
    taints=(Taint("gpu", "NoSchedule", "yes"),),
    kubelet={"evictionSoft": {"memory.available": "5%"}, "podsPerCore": 4},
    pods_max=29,
    raid0=True,
)
KUBELET = {
    "clusterDNS": ["10.0.0.10"],
    "systemReserved": {"cpu": "100m", "memory": "200Mi"},
    "kubeReserved": {"ephemeral-storage": "2Gi"},
    "evictionHard": {"memory.available": "5%", "nodefs.available": "1Gi"},
    "evictionSoft": {"memory.available": "10%"},
    "evictionSoftGracePeriod": {"memory.available": "1m"},
    "evictionMaxPodGracePeriod": 60,
    "imageGCHighThresholdPercent": 85,
    "imageGCLowThresholdPercent": 80,
    "cpuCFSQuota": False,
}
MIME = (
    'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n'
    '--x\nContent-Type: text/cloud-config; charset="us-ascii"\n\npackages: [htop]\n\n'
    "--x\nContent-Type: text/x-shellscript\n\n#!/bin/bash\necho hello\n--x--\n"
)
NODE_CONFIG = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config: {maxPods: 5, shutdownGracePeriod: 30s}
"""
TOML = """\
[settings.kernel]
lockdown = "integrity"
[settings.kubernetes]
max-pods = 5
cpu-manager-policy = "static"
unheard-of = true
[settings.kubernetes.node-labels]
team = "the-users"
zone = "mine"
[settings.kubernetes.memory-manager-reserved-memory.0]
enabled = true
memory = "1Gi"
hugepages-2Mi = "2Mi"
"""
SCRIPT = "#!/bin/bash\necho hello\n"
IPV6 = replace(aws_facts.CLUSTER, service_cidr="fd12:3456::/108")

GOLDEN = {
    "al2023": BOOT,
    "al2023-kubelet": replace(BOOT, kubelet={**KUBELET, "shutdownGracePeriod": "30s"}, raid0=False),
    "al2023-script": replace(BOOT, user_data=SCRIPT),
    "al2023-node-config": replace(BOOT, user_data=NODE_CONFIG),
    "al2023-mime": replace(BOOT, user_data=MIME),
    "al2": replace(BOOT, family="AL2", kubelet={}, raid0=False),
    "al2-kubelet": replace(BOOT, family="AL2", kubelet=KUBELET),
    "al2-mime": replace(BOOT, family="AL2", user_data=MIME),
    "al2-ipv6": replace(BOOT, family="AL2", kubelet={}, cluster=IPV6),
    "bottlerocket": replace(BOOT, family="Bottlerocket", kubelet={}, raid0=False),
    "bottlerocket-kubelet": replace(BOOT, family="Bottlerocket", kubelet=KUBELET, raid0=False),
    "bottlerocket-toml": replace(
        BOOT, family="Bottlerocket", user_data=TOML, image_version="v1.46.0"
    ),
    "bottlerocket-old": replace(BOOT, family="Bottlerocket", image_version="1.45.2"),
    "windows": replace(BOOT, family="Windows2022", kubelet={}, raid0=False),
    "windows-kubelet": replace(
        BOOT, family="Windows2019", kubelet=KUBELET, user_data="Write-Host hello\n", raid0=False
    ),
    "custom": replace(BOOT, family="Custom", user_data="anything at all"),
}


def _text(boot: Boot) -> str:
    return base64.b64decode(render(boot)).decode()


@pytest.mark.parametrize("name", GOLDEN)
def test_a_machine_is_told_what_is_written_down(name: str) -> None:
    expected, told = HERE / f"{name}.txt", _text(GOLDEN[name])

    if os.environ.get("GOLDEN") == "write":
        expected.write_text(told)
    assert told == expected.read_text()


def test_every_golden_file_has_a_case() -> None:
    assert sorted(path.stem for path in HERE.glob("*.txt")) == sorted(GOLDEN)


@pytest.mark.parametrize("name", [n for n in GOLDEN if n.startswith(("al2", "al2023"))])
def test_mime_is_read_by_others_without_a_defect(name: str) -> None:
    message = email.message_from_string(_text(GOLDEN[name]), policy=email.policy.default)

    assert [d for part in message.walk() for d in part.defects] == []
    *users, ours = message.iter_parts()
    assert ours.get_content_type() in {"application/node.eks.aws", "text/x-shellscript"}
    assert bool(users) == bool(GOLDEN[name].user_data)


def test_the_last_node_config_is_ours_so_that_it_wins() -> None:
    message = email.message_from_string(_text(GOLDEN["al2023-node-config"]))
    documents = [yaml.safe_load(str(p.get_payload())) for p in message.walk() if not p.is_multipart()]  # fmt: skip

    assert [d["spec"]["kubelet"]["config"]["maxPods"] for d in documents] == [5, 29]


def test_bottlerockets_settings_are_the_users_with_ours_over_them() -> None:
    settings = tomllib.loads(_text(GOLDEN["bottlerocket-toml"]))["settings"]

    kubernetes = settings["kubernetes"]
    assert settings["kernel"] == {"lockdown": "integrity"}
    assert kubernetes["cpu-manager-policy"] == "static"
    assert kubernetes["memory-manager-reserved-memory"]["0"]["hugepages-2Mi"] == "2Mi"
    assert kubernetes["max-pods"] == 29
    assert kubernetes["node-labels"]["team"] == "payments"
    assert kubernetes["node-labels"]["zone"] == "mine"
    assert "unheard-of" not in kubernetes


@pytest.mark.parametrize(
    ("version", "by_itself"),
    [
        ("latest", True),
        ("v1.46.0", True),
        ("1.46.0", True),
        ("2.0.0", True),
        ("v1.45.9", False),
        ("", False),
        ("1", False),
        ("1.46", False),
        ("x.46.0", False),
        ("v1.fortysix.0", False),
    ],
)
def test_which_bottlerocket_knows_what_to_bind(version: str, *, by_itself: bool) -> None:
    assert bottlerocket.binds_by_itself(version) is by_itself


@pytest.mark.parametrize(
    ("family", "users", "reason", "words"),
    [
        pytest.param("AL2023", SCRIPT, "", "", id="a script on AL2023"),
        pytest.param("AL2023", MIME, "", "", id="MIME on AL2023"),
        pytest.param("AL2", "yum install htop", "", "", id="a script on AL2"),
        pytest.param("Bottlerocket", TOML, "", "", id="TOML on Bottlerocket"),
        pytest.param("Windows2022", "Write-Host hello", "", "", id="a script on Windows"),
        pytest.param("Custom", "[[[", "", "", id="anything on Custom"),
        pytest.param(
            "AL2023",
            MIME.replace("--x--", ""),
            "InvalidUserData",
            "CloseBoundaryNotFound",
            id="MIME without an end",
        ),
        pytest.param(
            "AL2",
            "Content-Type: multipart/mixed\n\n--x\n\nhello\n",
            "InvalidUserData",
            "NoBoundaryInMultipart",
            id="MIME without a boundary",
        ),
        pytest.param(
            "AL2023",
            MIME.replace("text/x-shellscript", "application/node.eks.aws"),
            "InvalidUserData",
            "no YAML mapping",
            id="a NodeConfig that is none",
        ),
        pytest.param(
            "Bottlerocket", "[settings", "InvalidUserData", "is not TOML", id="broken TOML"
        ),
        pytest.param(
            "Bottlerocket",
            'settings = "x"',
            "InvalidUserData",
            "settings is 'x'; it must be a table",
            id="settings that are no table",
        ),
        pytest.param(
            "Windows2022",
            "<powershell>hello</powershell>",
            "InvalidUserData",
            "leave the tags out",
            id="PowerShell in tags",
        ),
        pytest.param(
            "Custom", "x" * 16385, "UserDataSizeLimitExceeded", "16384", id="more than EC2 takes"
        ),
    ],
)
def test_user_data_that_cannot_be_merged_is_told_beforehand(
    family: str, users: str, reason: str, words: str
) -> None:
    found = user_data.problem(family, users)

    assert (found or ("", ""))[0] == reason
    assert words in (found or ("", ""))[1]


def test_labels_that_a_kubelet_may_not_set_are_left_to_others() -> None:
    kept = node_labels(
        {
            "topology.kubernetes.io/zone": "a",
            "node.kubernetes.io/instance-type": "m5.large",
            "topology.k8s.aws/zone-id": "usw2-az1",
            "karpenter.k8s.aws/instance-family": "m5",
            "plain": "x",
        }
    )

    assert set(kept) == {"topology.k8s.aws/zone-id", "karpenter.k8s.aws/instance-family", "plain"}


def test_too_much_user_data_is_refused_with_the_figures() -> None:
    with pytest.raises(errors.LaunchRefused, match="16384"):
        render(replace(BOOT, user_data="#!/bin/bash\n" + "x" * 20_000))


def test_a_launch_with_user_data_that_cannot_be_merged_is_refused() -> None:
    with pytest.raises(errors.LaunchRefused, match="not TOML") as refused:
        render(replace(BOOT, family="Bottlerocket", user_data="["))

    assert refused.value.code == "InvalidUserData.Malformed"
