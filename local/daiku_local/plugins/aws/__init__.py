"""The stand-in for the Pulumi plugin `aws`: resources made with boto3 in the laptop world's AWS."""
