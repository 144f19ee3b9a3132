import json

import pytest
from tests import build

from daiku.api import catalogue
from daiku.cloud.kwok import catalogue as kwok
from daiku.model.instance_type import Catalogue, NodeClassRef

OTHER = NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name="other")


def read_back(made: Catalogue) -> Catalogue:
    offered: catalogue.Offered = {}
    for each in catalogue.encode(made):
        offered |= catalogue.read(json.dumps(each).encode())
    return Catalogue(version=made.version, instance_types=offered)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(Catalogue(version=1, instance_types={build.REF: kwok.built_in()}), id="kwok"),
        pytest.param(
            build.catalogue(
                build.instance_type(
                    overhead={"cpu": "100m"},
                    extra={"nvidia.com/gpu": "1"},
                    capacity_types=("spot",),
                )
            ),
            id="overhead, extended resources and spot",
        ),
        pytest.param(
            build.catalogue(build.instance_type(offerings=[build.offering(0.1, available=False)])),
            id="sold out",
        ),
        pytest.param(build.catalogue(build.instance_type(offerings=[])), id="labels that it lacks"),
        pytest.param(Catalogue(version=1, instance_types={build.REF: ()}), id="nothing at all"),
    ],
)
def test_a_catalogue_is_the_same_after_a_file(made: Catalogue) -> None:
    assert read_back(made) == made


def test_node_classes_that_offer_the_same_share_one_entry() -> None:
    types = (build.instance_type(),)
    made = Catalogue(version=1, instance_types={build.REF: types, OTHER: types})

    assert len(catalogue.encode(made)) == 1
    assert read_back(made) == made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"usdPerHour": -1}, "a price is at least 0"),
        ({"requirements": []}, "without exactly one value of topology.kubernetes.io/zone"),
        ({"usdPerHour": "much"}, "cannot be read: Expected `float`"),
    ],
)
def test_an_offering_that_cannot_be_bought_is_refused(
    change: dict[str, object], message: str
) -> None:
    (body,) = catalogue.encode(build.catalogue(build.instance_type()))
    body["instanceTypes"][0]["offerings"][0] |= change

    with pytest.raises(ValueError, match=message):
        catalogue.read(json.dumps(body).encode())
