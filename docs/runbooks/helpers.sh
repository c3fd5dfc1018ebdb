# Functions that the runbooks use. Needs: bash, the aws command line with credentials, curl, python3, and STAGE.
#
#   export STAGE=prod            # which deployment
#   . docs/runbooks/helpers.sh   # from a checkout, or paste the text into your shell

: "${STAGE:?export STAGE first, for example STAGE=prod}"

# The outputs of the stack, read once; source this file again after a deploy.
_outputs="$(aws cloudformation describe-stacks --stack-name "llms-txt-auto-updates-$STAGE" \
  --query 'Stacks[0].Outputs[].[OutputKey, OutputValue]' --output text)"

# out NAME: an output of the stack (a name, an address, an ARN)
out() { printf '%s\n' "$_outputs" | awk -F '\t' -v name="$1" '$1 == name { print $2 }'; }

# secret NAME: the value of a secret of the stack; it goes to the terminal, so not into a ticket
secret() {
  aws secretsmanager get-secret-value --secret-id "$(out "$1SecretArn")" --query SecretString --output text
}

# api METHOD PATH [JSON]: the management API
api() {
  curl -sS -X "$1" "$(out FunctionUrl)$2" -H "X-Api-Key: $(secret ApiKey)" \
    -H 'content-type: application/json' ${3:+-d "$3"}
  echo
}

# logs DOOR PATTERN [HOURS]: log lines of Dispatcher, Webhook or Worker
logs() {
  aws logs filter-log-events --log-group-name "$(out "$1Logs")" --filter-pattern "$2" \
    --start-time "$((($(date +%s) - ${3:-12} * 3600) * 1000))" --max-items 50 --query 'events[].message' --output text
}

# errors DOOR [HOURS]: what went wrong there
errors() { logs "$1" '?ERROR ?CRITICAL ?"Task timed out" ?"Runtime."' "${2:-12}"; }

# history PATTERN [HOURS]: how sites ended, as the workers logged it (PATTERN may be a URL)
history_of() { logs Worker "\"site_recrawled\" \"$1\"" "${2:-48}"; }

# depth QUEUE: how many messages lie in Queue, DeadSites, UndeliveredTicks or FailedTicks
depth() {
  aws sqs get-queue-attributes --queue-url "$(out "$1Url")" \
    --attribute-names ApproximateNumberOfMessages ApproximateNumberOfMessagesNotVisible --query Attributes
}

# peek: which sites lie in the dead letters (they stay there)
peek() {
  aws sqs receive-message --queue-url "$(out DeadSitesUrl)" --max-number-of-messages 10 --visibility-timeout 1 \
    --query 'Messages[].Body' --output text
}

# tick: run the schedule now, exactly as the rule would. The input holds the cron secret, so it is not shown.
tick() {
  local input answer
  input="$(mktemp)" answer="$(mktemp)"
  aws events list-targets-by-rule --rule "$(out ScheduleRule)" --query 'Targets[0].Input' --output text >"$input"
  aws lambda invoke --function-name "$(out DispatcherName)" --payload "fileb://$input" "$answer" >/dev/null
  rm -f "$input"
  cat "$answer"
  rm -f "$answer"
  echo
}

# site URL: the id of an enrolled site
site() {
  api GET /sites | python3 -c "
import json, sys
print(next((s['id'] for s in json.load(sys.stdin)['sites'] if s['url'].rstrip('/') == sys.argv[1].rstrip('/')), ''))" "$1"
}

# announce: hold back pages for twelve hours, because you work on the service
announce() {
  aws cloudwatch put-metric-data --namespace LlmsTxt --metric-name Maintenance --value 1 \
    --dimensions "service=llms-txt,stage=$STAGE"
}
