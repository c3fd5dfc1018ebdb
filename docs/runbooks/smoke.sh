# One tick now, and its result: `make smoke STAGE=…`. Exit 1 when the tick is refused or does not end in ten minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
. docs/runbooks/helpers.sh

answer="$(tick)"
echo "$answer"
case "$answer" in
*'"triggered"'*) ;;
*) echo "the tick was refused; see docs/runbooks/failed-ticks.md" >&2 && exit 1 ;;
esac

began="$(date +%s)"
until logs Worker '"tick_completed"' 1 | grep -q . || logs Dispatcher '"tick_completed"' 1 | grep -q .; do
  if [ "$(($(date +%s) - began))" -gt 600 ]; then
    echo "the tick has not ended after ten minutes; see docs/runbooks/heartbeat.md" >&2
    exit 1
  fi
  sleep 10
done
logs Worker '"tick_completed"' 1 | tail -n 1
logs Dispatcher '"tick_completed"' 1 | tail -n 1
