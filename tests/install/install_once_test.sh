#!/usr/bin/env bash
# A folder of packages that was not finished, or was made from other pins, is made anew.
# install_once_test.sh SOURCE
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
echo "package==1" >pins.txt

# Installs with a command that writes half of a package, and then runs its argument.
install_with() {
  bash -euc '. "$0/scripts/install-once"
    fill() { mkdir "$1"; echo begun >>calls.txt; cat "$2" >"$1/package"; '"$1"'; }
    install_once folder pins.txt fill' "$source" || true
}
expect() {  # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || { echo "$1: found '$3', expected '$2'" >&2; exit 1; }
}
n_calls() { wc -l <calls.txt; }

install_with false
expect "calls" 1 "$(n_calls)"
expect "a mark of what failed" "" "$(ls folder | grep installed || true)"
install_with 'kill -KILL $$' 2>/dev/null
expect "calls after a failure" 2 "$(n_calls)"
expect "a mark of what was killed" "" "$(ls folder | grep installed || true)"
install_with true
expect "calls after it was killed" 3 "$(n_calls)"
install_with true
expect "calls once it is finished" 3 "$(n_calls)"
echo "package==2" >pins.txt
install_with true
expect "calls with other pins" 4 "$(n_calls)"
expect "the package" "package==2" "$(cat folder/package)"
