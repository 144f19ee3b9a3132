"""AWS's wire protocols, read and written from botocore's service descriptions.

An operation sees plain dictionaries with the names of the API reference; how they travel (EC2
query, query, JSON, REST-JSON) is only known here. Streams, S3 and header-bound members are not here:
what needs them goes on to moto unread.
"""
