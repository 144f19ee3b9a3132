"""The stand-in AWS: one HTTP endpoint that plays every AWS service the laptop world needs.

moto holds what it models well (VPC, IAM, SQS, EventBridge, KMS, ECR, the facts of instance types).
This package is the process around it: it tells which operation a request asks for, answers itself
what moto lacks or gets wrong (fleets, launch templates, EKS, prices, images, web identity), and
makes the weather (sold-out pools, throttling, delays). Run it as
`python -m daiku_local.aws --world FOLDER --port PORT`.

| part | what it holds |
|---|---|
| `wire` | requests and replies of AWS's protocols, as plain dictionaries |
| `server`, `dispatch` | HTTP, the table of operations, the way on to moto |
| `cloud`, `clock`, `weather`, `usage` | what the operations share |
| `ec2`, `eks`, `iam`, `ssm`, `sts`, `pricing` | the operations themselves, one package or file a service |

Nothing here is a claim about AWS beyond what Daiku needs; what a part leaves out is in its docstring.
"""
