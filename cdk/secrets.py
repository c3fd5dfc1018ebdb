"""The secrets: two that AWS makes up, and those of other services, which stay empty until the operator fills them.

Functions are given ARNs and read the values at run time; a value is never in the template.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from cdk.config import StageConfig

GENERATED_LENGTH = 48


class Secrets(Construct):
    """Every secret of a stage. The optional ones are None when the stage does not use the service."""

    cron: secretsmanager.Secret
    api_key: secretsmanager.Secret
    supabase: secretsmanager.Secret
    r2: secretsmanager.Secret | None
    bright_data: secretsmanager.Secret | None
    model: secretsmanager.Secret | None
    notify: secretsmanager.Secret | None

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        self._removal = RemovalPolicy.RETAIN if config.retain else RemovalPolicy.DESTROY
        self.cron = self._generated("Cron", "Proves that a tick comes from the schedule (X-Cron-Secret)")
        self.api_key = self._generated("ApiKey", "Opens the management API (X-Api-Key)")
        self.supabase = self._empty("Supabase", 'Supabase project: {"url": …, "key": <service role key>}')
        self.r2 = None
        if config.publishing == "r2":
            fields = '{"endpoint": …, "access_key_id": …, "secret_access_key": …, "bucket": …}'
            self.r2 = self._empty("R2", f"Cloudflare R2: {fields}")
        self.bright_data = self.model = self.notify = None
        if config.bright_data:
            self.bright_data = self._empty("BrightData", 'Bright Data Web Unlocker: {"api_key": …, "zone": …}')
        if config.model_descriptions:
            self.model = self._empty("Model", 'Model provider: {"base_url": …, "api_key": …, "model": …}')
        if config.notifications:
            self.notify = self._empty("Notify", 'Who is told of changes: {"url": …, "secret": <whsec_…>}')

    @property
    def to_fill(self) -> Sequence[secretsmanager.Secret]:
        """Those that the operator fills once after the first deploy."""
        return [secret for secret in (self.supabase, self.r2, self.bright_data, self.model, self.notify) if secret]

    def _generated(self, id_: str, description: str) -> secretsmanager.Secret:
        # CloudFormation makes a new value when any of these properties changes (aws-cdk#19985), and the cron secret
        # is pasted into JSON, so it must hold no quote and no backslash. A test freezes them.
        return secretsmanager.Secret(
            self,
            id_,
            description=description,
            removal_policy=self._removal,
            generate_secret_string=secretsmanager.SecretStringGenerator(
                exclude_punctuation=True, include_space=False, password_length=GENERATED_LENGTH
            ),
        )

    def _empty(self, id_: str, description: str) -> secretsmanager.Secret:
        # The construct would generate a random value; without one, reading the secret fails with "no AWSCURRENT
        # version", which says plainly that nobody has filled it.
        secret = secretsmanager.Secret(self, id_, description=description, removal_policy=self._removal)
        resource = secret.node.default_child
        assert isinstance(resource, secretsmanager.CfnSecret)
        resource.add_property_deletion_override("GenerateSecretString")
        return secret
