"""The public door: a function URL for webhooks and the management API.

The URL has no AWS authentication, because CI systems cannot sign for it: the code behind it is the boundary. That is
why the function is small, short and, where the account allows it, capped.
"""

from __future__ import annotations

from aws_cdk import Fn
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.function import RuntimeFunction


class PublicUrl(Construct):
    """The function URL. `address` has no slash at its end, `host` is its name alone."""

    url: lambda_.FunctionUrl
    address: str
    host: str

    def __init__(self, scope: Construct, id_: str, *, function: RuntimeFunction) -> None:
        super().__init__(scope, id_)
        # Since October 2025 a caller needs InvokeFunctionUrl and InvokeFunction; this writes both permissions.
        self.url = function.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
        self.host = Fn.select(2, Fn.split("/", self.url.url))
        self.address = Fn.join("", ["https://", self.host])
