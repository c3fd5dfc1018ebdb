"""`cdk synth`, `cdk deploy`: the entry point that cdk.json names."""

import sys

from cdk.assembly import build_app
from cdk.bundling import BundlingError
from cdk.nag import check
from cdk.rules import ConfigError

if __name__ == "__main__":
    try:
        app = build_app()
        check(app)
        app.synth()
    except (ConfigError, BundlingError) as error:
        sys.exit(f"error: {error}")
