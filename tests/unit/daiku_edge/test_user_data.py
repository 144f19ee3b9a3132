"""What a new machine is told, whole, and how it is merged with what the user gives."""

import base64
from dataclasses import replace

import pytest
from tests.unit.daiku_edge import aws_facts

from daiku.cloud import errors
from daiku.cloud.aws.user_data import Boot, node_labels, render
from daiku.model.taints import Taint

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
GOLDEN = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

# Written by Daiku; what it sets wins over the parts before.
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    apiServerEndpoint: https://api.demo
    certificateAuthority: Q0E=
    cidr: 10.100.0.0/16
    name: demo
  instance:
    localStorage:
      strategy: RAID0
  kubelet:
    config:
      clusterDNS:
      - 10.100.0.10
      evictionSoft:
        memory.available: 5%
      maxPods: 29
      registerWithTaints:
      - effect: NoSchedule
        key: gpu
        value: 'yes'
      - effect: NoExecute
        key: karpenter.sh/unregistered
    flags:
    - --node-labels="karpenter.sh/nodepool=default,team=payments"

--//--
"""


def _text(boot: Boot) -> str:
    return base64.b64decode(render(boot)).decode()


def test_al2023_is_one_node_config() -> None:
    assert _text(BOOT) == GOLDEN


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        pytest.param("#!/bin/bash\necho hello", "text/x-shellscript", id="a script"),
        pytest.param("apiVersion: node.eks.aws/v1alpha1", "application/node.eks.aws", id="YAML"),
        pytest.param(
            'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n'
            "--x\nContent-Type: text/cloud-config\n\npackages: []\n--x--\n",
            "text/cloud-config",
            id="MIME",
        ),
    ],
)
def test_what_the_user_gives_comes_first(given: str, kind: str) -> None:
    parts = _text(replace(BOOT, user_data=given)).split("--//\n")[1:]

    assert len(parts) == 2
    assert parts[0].startswith(f"Content-Type: {kind}")
    assert "Written by Daiku" in parts[1]


def test_a_custom_image_gets_the_users_text_alone() -> None:
    assert _text(replace(BOOT, family="Custom", user_data="anything")) == "anything"


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
