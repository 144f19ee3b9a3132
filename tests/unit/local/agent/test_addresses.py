"""Addresses of local pods, on the real loopback."""

import ipaddress
import socket
from contextlib import closing

import pytest

from daiku_local.agent import addresses


@pytest.mark.parametrize(
    ("real", "shown"), [("127.87.1.250", "240.87.1.250"), ("127.10.2.1", "240.10.2.1"), ("", "")]
)
def test_the_cluster_is_shown_an_address_that_it_takes_for_a_pods(real: str, shown: str) -> None:
    assert addresses.shown(real) == shown
    assert addresses.real(shown) == real
    if shown:
        # As Go's IsGlobalUnicast has it, which a pod's proxy asks for.
        told = ipaddress.ip_address(shown)
        assert not any((told.is_loopback, told.is_multicast, told.is_link_local))


@pytest.mark.parametrize("address", ["10.0.1.7", "100.64.0.3", "127.0.0.1", "2400::1"])
def test_an_address_that_no_pod_has_leads_nowhere(address: str) -> None:
    assert addresses.real(address) == ""


def test_every_pod_has_an_address_and_keeps_it() -> None:
    with closing(addresses.take()) as taken:
        first = taken.assign("a", [])
        second = taken.assign("b", [])

        assert first != second
        assert taken.assign("a", []) == first
        assert {addresses.octet_of(each) for each in (first, second)} == {taken.octet}


def test_two_worlds_never_share_an_octet() -> None:
    with closing(addresses.take()) as one, closing(addresses.take(one.octet)) as other:
        assert other.octet != one.octet


def test_a_world_takes_its_octet_again() -> None:
    with closing(addresses.take()) as one:
        octet = one.octet

    with closing(addresses.take(octet)) as again:
        assert again.octet == octet


def test_an_address_whose_port_is_taken_is_passed_over() -> None:
    with closing(addresses.take()) as taken, socket.socket() as other:
        other.bind((f"127.{taken.octet}.1.1", 0))
        port = other.getsockname()[1]

        assert taken.assign("a", [port]) == f"127.{taken.octet}.1.2"


def test_a_port_that_another_program_has_on_all_addresses_is_explained() -> None:
    with closing(addresses.take()) as taken, socket.socket() as other:
        other.bind(("", 0))
        other.listen(1)
        port = other.getsockname()[1]

        with pytest.raises(addresses.NoAddressError, match=f"port {port} is not free"):
            taken.assign("a", [port])


def test_addresses_of_pods_that_ran_before_are_not_given_out_again() -> None:
    with closing(addresses.take()) as taken:
        taken.keep("a", f"127.{taken.octet}.1.1")

        assert taken.assign("b", []) == f"127.{taken.octet}.1.2"
        taken.release("a")
        assert taken.assign("c", []) == f"127.{taken.octet}.1.1"
