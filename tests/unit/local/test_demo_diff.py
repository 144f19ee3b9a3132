from daiku_local.demo.diff import shorten

PREVIEW = """\
Previewing update (local):
+ pulumi:pulumi:Stack: (create)
    [urn=urn:pulumi:local::daiku::pulumi:pulumi:Stack::daiku-local]
warning: using pulumi-resource-aws from $PATH at /somewhere
    + aws:ec2/vpc:Vpc: (create)
        [urn=urn:pulumi:local::daiku::daiku:index:Vpc$aws:ec2/vpc:Vpc::daiku-local]
        [provider=urn:pulumi:local::daiku::pulumi:providers:aws::default::04da6b54]
        cidrBlock         : "10.0.0.0/16"
        enableDnsHostnames: true
        tags              : {
            Name: "inner"
        }
        vpcId             : [unknown]
    ~ aws:sqs/queue:Queue: (update)
        [id=q]
        [urn=urn:pulumi:local::daiku::aws:sqs/queue:Queue::interruptions]
      ~ messageRetentionSeconds: 300 => 600
Resources:
    + 2 to create
"""


def test_a_resource_becomes_one_line_with_its_own_known_values() -> None:
    lines = list(shorten(PREVIEW.splitlines()))

    assert lines == [
        "Previewing update (local):",
        "+ pulumi:pulumi:Stack daiku-local",
        '+ aws:ec2/vpc:Vpc daiku-local  cidrBlock="10.0.0.0/16", enableDnsHostnames=true',
        "~ aws:sqs/queue:Queue interruptions  messageRetentionSeconds=300 => 600",
        "    + 2 to create",
    ]
