"""The table of resource types, filled: importing this module enters every type."""

from daiku_local.plugins import sdk
from daiku_local.plugins.aws import (
    eks as _eks,
)
from daiku_local.plugins.aws import (
    endpoints as _endpoints,
)
from daiku_local.plugins.aws import (
    iam as _iam,
)
from daiku_local.plugins.aws.kind import KINDS, Kind
from daiku_local.plugins.errors import ProviderError
