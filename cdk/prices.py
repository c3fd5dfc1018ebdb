"""List prices that the cost guard and docs/cost.md count with: US East (N. Virginia), USD, checked on the date below.

They are the one place to edit when AWS changes a price; everything that shows a sum is computed from them.
"""

from typing import Final

CHECKED: Final = "2026-12-02"

GB_SECOND: Final = {"arm64": 0.0000133334, "x86_64": 0.0000166667}
LAMBDA_REQUEST: Final = 0.20 / 1_000_000
SQS_REQUEST: Final = 0.40 / 1_000_000
S3_PUT: Final = 0.005 / 1_000
S3_GET: Final = 0.0004 / 1_000
S3_GB_MONTH: Final = 0.023
LOGS_GB: Final = 0.50
SECRET_MONTH: Final = 0.40
KEY_MONTH: Final = 1.00
ALARM_METRIC: Final = 0.10
COMPOSITE_ALARM: Final = 0.50
CUSTOM_METRIC: Final = 0.30
DASHBOARD: Final = 3.00
TRACE: Final = 5.00 / 1_000_000
DAYS_A_MONTH: Final = 30.4
