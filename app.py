"""`cdk synth`, `cdk deploy`: the entry point that cdk.json names."""

import sys

from cdk.assembly import build_app
from cdk.rules import ConfigError

if __name__ == "__main__":
    try:
        build_app().synth()
    except ConfigError as error:
        sys.exit(f"error: {error}")
