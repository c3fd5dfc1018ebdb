"""docs/deploy.md to the letter, in the deployed account: every block of the page is run here, by `make` from a checkout.

The stage's settings are where the page says that they are kept, in the checkout's cdk.json. Only what stands for
somebody's own (the stage's name, a site, the next version) is put in; `git pull` is a change of a file.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.sample.server import serve_in_thread
from runtime.sample.site import SampleSite
from tests.e2e.aws.account import ROOT, eventually, outputs
from tests.e2e.aws.conftest import STACK, Deployment
from tests.e2e.aws.shell import person_at, run
from tests.stand_ins.postgrest import token

pytestmark = pytest.mark.e2e

BLOCKS = {
    "The first time": 5, "Stages": 1, "Upgrade": 1, "Roll back": 1, "Rotate a secret": 2, "Destroy": 1,
}  # fmt: skip
"""How many blocks of commands are below each heading."""

KEPT = ("QueueUrl", "StateBucket", "SupabaseSecretArn", "CronSecretArn", "ApiKeySecretArn", "FunctionUrl", "LettersUrl")
WAIT_SECONDS = 90


def blocks() -> dict[str, list[str]]:
    """The page's blocks of commands by the heading of the second level that they are below."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"(?m)^## ", (ROOT / "docs/deploy.md").read_text())[1:]:
        heading, _, text = section.partition("\n")
        commands = re.findall(r"(?ms)^ *```(?:sh|console)\n(.*?)^ *```", text)
        if commands:
            found[heading] = commands
    return found


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where the person stands, and with which shell."""

    folder: Path
    shell: dict[str, str]

    def does(self, commands: str, **put_in: str) -> str:
        """Run commands of the page with each key replaced by its value; gives what was printed."""
        for ours, theirs in put_in.items():
            assert ours in commands
            commands = commands.replace(ours, theirs)
        status, printed, errors = run(commands, self.shell, cwd=self.folder, seconds=300)
        assert status == 0, f"{printed}\n{errors}"
        return printed + errors


@pytest.fixture(scope="module")
def checkout(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The account's checkout with all that `make` needs, and the helpers in the shell as the page says."""
    folder = deployment.account.checkout
    for name in ("Makefile", "requirements.txt"):
        shutil.copy2(ROOT / name, folder / name)
    for name in (".venv", "build", "docs", "supabase"):
        (folder / name).symlink_to(ROOT / name)
    kept = json.loads((folder / "cdk.json").read_text())
    kept["context"] |= deployment.context | {"cronSecretVersion": "2"}
    del kept["context"]["stage"]
    (folder / "cdk.json").write_text(json.dumps(kept, indent=2))
    shell = person_at(deployment, tmp_path_factory.mktemp("bin"))
    # A person answers the questions of cdk deploy, here nobody is asked.
    helpers = folder / "helpers.sh"
    helpers.write_text(". docs/runbooks/helpers.sh\n")
    return Checkout(folder, {**shell, "BASH_ENV": str(helpers), "ARGS": "--require-approval never"})


def code_of(deployment: Deployment, output: str = "DispatcherName") -> str:
    found = deployment.account.client("lambda").get_function(FunctionName=deployment.outputs[output])
    digest: str = found["Configuration"]["CodeSha256"]
    return digest


def kept(deployment: Deployment) -> dict[str, str]:
    found = outputs(deployment.account, STACK)
    return {name: found[name] for name in KEPT}


def rule(deployment: Deployment) -> dict[str, Any]:
    found = outputs(deployment.account, STACK)["ScheduleRule"]
    answer: dict[str, Any] = deployment.account.client("events").describe_rule(Name=found)
    return answer


def test_every_block_of_the_page_is_run_here() -> None:
    """A block that is added to the page wants a test."""
    assert {heading: len(found) for heading, found in blocks().items()} == BLOCKS


def test_the_first_time(deployment: Deployment, checkout: Checkout) -> None:
    """Bootstrap, deploy, a secret from a file, the smoke test, a site, its file. Doing it again changes nothing."""
    bootstrap, migrate, fill, smoke, enrol = blocks()["The first time"]
    before = kept(deployment)
    checkout.does(bootstrap, **{"STAGE=dev": "STAGE=local"})
    assert kept(deployment) == before
    project = deployment.postgres.uri(deployment.postgres.create(migrated=False))
    apply = {"postgresql://postgres:…@db.….supabase.co:5432/postgres": project}
    assert "applied" in checkout.does(migrate, **apply)
    assert "the schema is up to date" in checkout.does(migrate, **apply)
    manager = deployment.account.client("secretsmanager")
    url = json.loads(manager.get_secret_value(SecretId=before["SupabaseSecretArn"])["SecretString"])["url"]
    (checkout.folder / "supabase.json").write_text(json.dumps({"url": url, "key": token("service_role")}))
    checkout.does(fill)
    said = checkout.does(smoke)
    assert "the tick worked" in said or "[RECRAWL] Completed" in said

    site = SampleSite()
    with serve_in_thread(site) as web:
        post, look = enrol.strip().splitlines()
        answer = json.loads(checkout.does(post, **{"https://docs.example.com": web.url}))
        assert answer["webhook_secret"].startswith("whsec_")

        def file() -> str:
            row = deployment.api("GET", f"/sites/{answer['id']}").json()
            return str(row["llms_url"] or "")

        llms_url = eventually(file, seconds=WAIT_SECONDS)
        place = llms_url.removeprefix(f"{deployment.outputs['PublicBaseUrl']}/").removesuffix("/llms.txt")
        assert checkout.does(look, **{"docs.example.com": place}).startswith("# ")

        (roll_back,) = blocks()["Roll back"]
        first = deployment.read(llms_url).text
        site.retitle(next(iter(site.pages)), "A Title That Was A Mistake")
        assert deployment.api("POST", f"/sites/{answer['id']}/recrawl").status_code == 200
        eventually(lambda: "A Title That Was A Mistake" in deployment.read(llms_url).text, seconds=WAIT_SECONDS)
        checkout.does(f"URL={web.url}\n{roll_back}")
        assert deployment.read(llms_url).text == first


def test_a_value_is_set_and_goes_back(deployment: Deployment, checkout: Checkout) -> None:
    """With `-c` for once; the next deploy without it takes it back."""
    (deploy,) = blocks()["Stages"]
    before = rule(deployment)["ScheduleExpression"]
    checkout.does(deploy, **{'ARGS="': 'ARGS="$ARGS '})
    assert rule(deployment)["ScheduleExpression"] == "rate(1 hour)"
    checkout.does("make deploy")
    assert rule(deployment)["ScheduleExpression"] == before


def test_an_upgrade_and_its_roll_back_touch_the_code_alone(deployment: Deployment, checkout: Checkout) -> None:
    """`make diff` says so before, the outputs after; the tick works on either version."""
    (upgrade,) = blocks()["Upgrade"]
    pulled = checkout.folder / "runtime" / "__init__.py"
    before, old = kept(deployment), pulled.read_text()
    first = code_of(deployment)

    said = checkout.does(upgrade, **{"git pull && make test": f"echo '# the next version' >> {pulled}"})
    changed = re.findall(r"(?m)^\[([~+-])\] (\S+)", re.sub(r"\x1b\[[0-9;]*m", "", said))
    assert changed
    assert set(changed) == {("~", "AWS::Lambda::Function")}
    second = code_of(deployment)
    assert second != first
    assert (code_of(deployment, "WorkerName"), kept(deployment)) == (second, before)

    pulled.write_text(old)
    checkout.does("make deploy\nmake smoke")
    assert (code_of(deployment), kept(deployment)) == (first, before)


def test_the_cron_secret_is_rotated(deployment: Deployment, checkout: Checkout) -> None:
    """The next tick of the rule has the new value; the command prints no value."""
    put, deploy = blocks()["Rotate a secret"]
    manager = deployment.account.client("secretsmanager")

    def secret() -> str:
        value: str = manager.get_secret_value(SecretId=deployment.outputs["CronSecretArn"])["SecretString"]
        return value

    before, said = secret(), checkout.does(put)
    assert secret() != before
    assert (before in said, secret() in said) == (False, False)
    checkout.does(deploy, **{'ARGS="': 'ARGS="$ARGS ', "cronSecretVersion=2": "cronSecretVersion=3"})
    targets = deployment.account.client("events").list_targets_by_rule(Rule=rule(deployment)["Name"])["Targets"]
    assert [json.loads(target["Input"])["headers"]["X-Cron-Secret"] for target in targets] == [secret()]


def test_the_api_key_before_is_valid_until_the_next_rotation(deployment: Deployment, checkout: Checkout) -> None:
    """As the table says: rotate, change the callers, rotate once more."""
    manager = deployment.account.client("secretsmanager")
    first = manager.get_secret_value(SecretId=deployment.outputs["ApiKeySecretArn"])["SecretString"]

    def status(key: str) -> int:
        return int(deployment.api("GET", "/sites", **{"X-Api-Key": key}).status_code)

    def rotate(key: str) -> None:
        checkout.does(f'aws secretsmanager put-secret-value --secret-id "$(out ApiKeySecretArn)" --secret-string {key}')
        eventually(lambda: status(key) == 200, seconds=30)

    second, third = "second" * 8, "third" * 9
    rotate(second)
    assert status(first) == 200
    rotate(third)
    assert (status(second), status(first)) == (200, 401)


def test_the_schedule_is_switched_off_for_good_and_on_again(deployment: Deployment, checkout: Checkout) -> None:
    """`-c scheduleEnabled=false`."""
    checkout.does('make deploy ARGS="$ARGS -c scheduleEnabled=false -c cronSecretVersion=3"')
    assert rule(deployment)["State"] == "DISABLED"
    checkout.does('make deploy ARGS="$ARGS -c cronSecretVersion=3"')
    assert rule(deployment)["State"] == "ENABLED"


def test_destroy_leaves_what_the_page_says(deployment: Deployment, checkout: Checkout) -> None:
    """The end of the story, after every other file of this folder. Published files and state stay; secrets, queues and
    logs of a stage that is not prod go.
    """
    (destroy,) = blocks()["Destroy"]
    (url, *_) = [site["llms_url"] for site in deployment.api("GET", "/sites").json()["sites"] if site["llms_url"]]
    checkout.does(f"ARGS=--force\n{destroy}")
    names = [found["Name"] for found in deployment.account.client("s3").list_buckets()["Buckets"]]
    assert deployment.outputs["StateBucket"] in names
    assert deployment.read(url).status_code == 200
    secrets = deployment.account.client("secretsmanager").list_secrets()["SecretList"]
    assert [secret["Name"] for secret in secrets if STACK in secret["Name"]] == []
    assert deployment.account.client("sqs").list_queues(QueueNamePrefix=STACK).get("QueueUrls", []) == []
    groups = deployment.account.client("logs").describe_log_groups()["logGroups"]
    ours = {deployment.outputs[name] for name in deployment.outputs if name.endswith("Logs")}
    assert [group["logGroupName"] for group in groups if group["logGroupName"] in ours] == []
