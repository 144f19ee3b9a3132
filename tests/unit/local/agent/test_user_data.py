"""User data as nodeadm reads it."""

import base64
from typing import Any

import pytest
import yaml

from daiku_local.agent import user_data

CLUSTER = {
    "name": "demo",
    "apiServerEndpoint": "https://127.0.0.1:6443",
    "certificateAuthority": "QUJD",
    "cidr": "10.100.0.0/16",
}


def _document(**spec: Any) -> str:
    content = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}
    return yaml.safe_dump(content)


def _part(text: str, kind: str = "application/node.eks.aws") -> str:
    return f"--//\nContent-Type: {kind}\n\n{text}\n"


def _message(*parts: str) -> str:
    head = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
    return head + "".join(parts) + "--//--\n"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_node_config_alone_is_user_data() -> None:
    config = user_data.decode(_encoded(_document(cluster=CLUSTER)))

    assert config.cluster_name == "demo"
    assert config.api_server_endpoint == "https://127.0.0.1:6443"
    assert config.certificate_authority == "QUJD"
    assert config.cidr == "10.100.0.0/16"
    assert config.kubelet_config == {}
    assert config.kubelet_flags == ()
    assert not config.raid0


def test_a_message_may_hold_scripts_beside_the_node_config() -> None:
    script = _part("#!/bin/sh\necho hello", "text/x-shellscript; charset=us-ascii")

    config = user_data.decode(_encoded(_message(script, _part(_document(cluster=CLUSTER)))))

    assert config.cluster_name == "demo"


def test_a_later_node_config_wins_field_by_field() -> None:
    users = _document(
        cluster=CLUSTER | {"name": "theirs"},
        kubelet={"config": {"maxPods": 10, "kubeReserved": {"cpu": "1", "memory": "1Gi"}}},
    )
    ours = _document(cluster=CLUSTER, kubelet={"config": {"kubeReserved": {"cpu": "2"}}})

    config = user_data.decode(_encoded(_message(_part(users), _part(ours))))

    assert config.cluster_name == "demo"
    assert config.kubelet_config == {"maxPods": 10, "kubeReserved": {"cpu": "2", "memory": "1Gi"}}


def test_a_later_list_replaces_an_earlier_one() -> None:
    first = _document(cluster=CLUSTER, kubelet={"config": {"clusterDNS": ["10.0.0.1", "10.0.0.2"]}})
    second = _document(kubelet={"config": {"clusterDNS": ["10.100.0.10"]}})

    config = user_data.decode(_encoded(_message(_part(first), _part(second))))

    assert config.kubelet_config["clusterDNS"] == ["10.100.0.10"]


def test_kubelet_flags_add_up_in_order() -> None:
    first = _document(cluster=CLUSTER, kubelet={"flags": ["--node-labels=a=1"]})
    second = _document(kubelet={"flags": ["--node-labels=a=2"]})

    config = user_data.decode(_encoded(_message(_part(first), _part(second))))

    assert config.kubelet_flags == ("--node-labels=a=1", "--node-labels=a=2")


def test_local_disks_become_one_volume_when_asked() -> None:
    document = _document(cluster=CLUSTER, instance={"localStorage": {"strategy": "RAID0"}})

    assert user_data.decode(_encoded(document)).raid0


def test_a_message_may_end_its_lines_as_the_standard_says() -> None:
    text = _message(_part(_document(cluster=CLUSTER))).replace("\n", "\r\n")

    assert user_data.decode(_encoded(text)).cluster_name == "demo"


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        pytest.param("$$$", "not base64", id="it is not base64"),
        pytest.param(_encoded("x" * 16385), "16385 bytes; EC2 takes 16384", id="it is too long"),
        pytest.param(
            _encoded(_message(_part("#!/bin/sh", "text/x-shellscript"))),
            "no part of type application/node.eks.aws, only multipart/mixed, text/x-shellscript",
            id="a message holds only scripts",
        ),
        pytest.param(_encoded("#!/bin/sh\necho"), "must have apiVersion", id="it is a script"),
        pytest.param(_encoded("a: b: c"), "is not YAML", id="a document is not YAML"),
        pytest.param(
            _encoded("apiVersion: v1\nkind: ConfigMap"),
            "this one has v1, kind ConfigMap",
            id="a document is something else",
        ),
        pytest.param(
            _encoded(_document(cluster={"name": "demo", "cidr": "10.0.0.0/16"})),
            "lacks spec.cluster.apiServerEndpoint, spec.cluster.certificateAuthority",
            id="the cluster is incomplete",
        ),
    ],
)
def test_user_data_that_nodeadm_refuses_says_what_is_wrong(encoded: str, message: str) -> None:
    with pytest.raises(user_data.UserDataError, match=message):
        user_data.decode(encoded)
