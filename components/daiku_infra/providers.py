"""The generated SDKs of the providers, imported in one place.

On import they warn of classes of their own that nobody here uses. Those warnings would stop a program
or a test that runs with warnings as errors, and tell nobody anything.
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import pulumi_aws as aws
    import pulumi_docker_build as docker_build
    import pulumi_eks as eks
    import pulumi_kubernetes as kubernetes

    # pulumi_aws loads a module when one of its classes is first named.
    used = (
        aws.cloudwatch.EventRule,
        aws.ecr.Repository,
        aws.kms.Key,
        aws.ec2.Vpc,
        aws.eks.NodeGroup,
        aws.iam.Role,
        aws.sqs.Queue,
    )

__all__ = ["aws", "docker_build", "eks", "kubernetes"]
