from daiku_local.demo import run


def test_the_demo_counts_what_a_preview_counts() -> None:
    """The engine leaves out the providers that it makes itself, and counts the stack and those of the program."""
    head = "urn:pulumi:local::daiku::"
    urns = [
        f"{head}pulumi:pulumi:Stack::daiku-local",
        f"{head}pulumi:providers:aws::default_7_51_1",
        f"{head}pulumi:providers:kubernetes::default",
        f"{head}pulumi:providers:kubernetes::daiku-cluster",
        f"{head}daiku:index:Vpc$aws:ec2/vpc:Vpc::default",
    ]

    assert run.counted(urns) == 3
