#!/usr/bin/env bash
# The program over several processes gives the bytes of one. mpi_test.sh PANDO SOURCE
set -euo pipefail
pando=$1 source=$2
command -v mpirun >/dev/null || { echo "there is no mpirun"; exit 77; }
[ -e "$(dirname "$pando")/pando-mpi.so" ] || { echo "pando was built without MPI"; exit 77; }
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
head -2 "$source/docs/demo/documents.jsonl" >questions.jsonl

ranks() {  # N PARALLEL MODEL OPTION...
  local n=$1 parallel=$2 model=$3
  shift 3
  timeout 120 mpirun --oversubscribe -n "$n" "$pando" run --model "$model" --parallel "$parallel" --threads 1 \
    --kv-memory 64MiB --input questions.jsonl --output many.jsonl --overwrite "$@"
}
# Lines come in the order in which questions end, which depends on when they are read.
same() {
  cmp <(sort one.jsonl) <(sort many.jsonl) || { echo "$1 differs from one process" >&2; exit 1; }
}

for shape in tiny-qwen2 tiny-olmo2 tiny-qwen3.5 tiny-granite tiny-lfm2; do
  "$pando" make-model --shape "$shape" --out "$shape" --tokenizer "$source/models/demo" --vocab 512 >/dev/null
done
mv tiny-qwen2 tiny
for model in "$source/models/demo" tiny tiny-*; do
  "$pando" run --model "$model" --input questions.jsonl --output one.jsonl --overwrite --kv-memory 64MiB --threads 1 2>/dev/null
  for case in "2 tp=2" "2 kvp=2" "3 spp=3" "4 spp=2,tp=2" "8 spp=2,kvp=2,tp=2" "2 replicas=2" "4 replicas=2,tp=2"; do
    [[ "$model $case" != tiny-*spp=3 ]] || continue  # too few layers
    [[ "$model $case" != tiny-[qgl]*kvp* ]] || continue  # recurrent layers
    [[ "$model $case" != tiny-*replicas* ]] || continue
    read -r n parallel <<<"$case"
    ranks "$n" "$parallel" "$model" 2>log.txt || { cat log.txt >&2; exit 1; }
    same "$model with $parallel"
  done
done

# A run of one process that was killed goes on over replicas, and then over none.
cp "$source/docs/demo/documents.jsonl" all.jsonl
all=("$pando" run --model "$source/models/demo" --input all.jsonl --threads 1 --kv-memory 64MiB --logits-hash)
"${all[@]}" --output one.jsonl --overwrite 2>/dev/null
rm many.jsonl many.jsonl.journal
"${all[@]}" --output many.jsonl --max-running 1 2>/dev/null &
killed=$!
for _ in $(seq 1000); do [ ! -s many.jsonl ] || break; sleep 0.01; done
kill -9 "$killed" 2>/dev/null || true
wait "$killed" 2>/dev/null || true
timeout 120 mpirun --oversubscribe -n 3 "${all[@]}" --output many.jsonl --resume --parallel replicas=3 2>log.txt ||
  { cat log.txt >&2; exit 1; }
same "a resumed run with replicas=3"
"${all[@]}" --output many.jsonl --resume 2>log.txt || { cat log.txt >&2; exit 1; }
same "the run that was finished"

expect_error() {  # TEXT N PARALLEL
  if ranks "$2" "$3" tiny >log.txt 2>&1; then echo "$3 on $2 processes was accepted" >&2; exit 1; fi
  [ "$(grep -c "pando: .*$1" log.txt)" = 1 ] || { echo "expected '$1' once, found:" >&2; cat log.txt >&2; exit 1; }
}
expect_error "needs 3 processes; 2 were started" 2 tp=3
expect_error "expected a divisor of the model's 4 query heads" 3 tp=3
expect_error "expected replicas=N, spp=N, kvp=N, tp=N or kvp_tokens=N" 2 pp=2
if timeout 60 mpirun --oversubscribe -n 2 "$pando" serve --model tiny --parallel replicas=2 >log.txt 2>&1; then
  echo "a server with replicas was accepted" >&2; exit 1
fi
grep -q "'replicas=2' has replicas=2, but a server has one engine, expected replicas=1" log.txt || { cat log.txt >&2; exit 1; }
# A command that loads no weights ends well on all processes.
timeout 60 mpirun --oversubscribe -n 2 "$pando" run --model tiny --parallel tp=2 --input questions.jsonl --output - \
  --dry-run 1 >log.txt 2>&1 || { cat log.txt >&2; exit 1; }
# Several engines, one after another.
timeout 120 mpirun --oversubscribe -n 2 "$pando" verify --model tiny --parallel tp=2 --threads 1 --kv-memory 64MiB \
  --input questions.jsonl >log.txt 2>&1 || { cat log.txt >&2; exit 1; }
pid_of_rank() {  # RANK PID-OF-TIMEOUT
  local pid
  for pid in $(pgrep -P "$(pgrep -P "$2")"); do
    if tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1"; then echo "$pid"; fi
  done
}
expect_end() {  # PID SECONDS WHAT
  for _ in $(seq "$2"); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 1
  done
  echo "$3 goes on for $2 s" >&2
  exit 1
}

# A run that loses a process in the middle ends, says which one, and is resumed with nothing lost.
head -5 "$source/docs/demo/documents.jsonl" >long.jsonl
long=("$pando" run --model "$source/models/demo" --threads 1 --kv-memory 64MiB --input long.jsonl --resume
      --max-tokens 200 --ignore-eos)
"${long[@]}" --output whole.jsonl 2>/dev/null
for lost in "KILL 30" "STOP 45"; do
  read -r signal seconds <<<"$lost"
  rm -f cut.jsonl*
  # One answer after another, so that most of the run is left behind the first.
  timeout 300 mpirun --oversubscribe -n 2 "${long[@]}" --output cut.jsonl --max-running 1 --parallel tp=2 2>log.txt &
  run=$!
  for _ in $(seq 1200); do
    [ ! -s cut.jsonl ] || break
    sleep 0.1
  done
  rank_1=$(pid_of_rank 1 "$run")
  kill -"$signal" "$rank_1"
  expect_end "$run" "$seconds" "a run without rank 1"
  if wait "$run"; then echo "a run that lost rank 1 by $signal ended well" >&2; exit 1; fi
  expect_end "$rank_1" 20 "rank 1 after $signal"
  grep -q "rank 1.* on .*$(hostname)" log.txt || { cat log.txt >&2; exit 1; }
  [ "$(wc -l <cut.jsonl)" -lt "$(wc -l <whole.jsonl)" ] || { echo "nothing is left to resume" >&2; exit 1; }
  "${long[@]}" --output cut.jsonl 2>/dev/null
  cmp <(sort whole.jsonl) <(sort cut.jsonl) || { echo "a run resumed after $signal differs" >&2; exit 1; }
done

# A server measures its steps on all processes first.
timeout 300 mpirun --oversubscribe -n 2 "$pando" serve --model tiny --parallel spp=2 --threads 1 --kv-memory 64MiB \
  --port 0 >log.txt 2>&1 &
server=$!
address=
for _ in $(seq 1200); do
  address=$(grep -o '127\.0\.0\.1:[0-9]*' log.txt | head -1) && break
  sleep 0.1
done
[ -n "$address" ] || { cat log.txt >&2; exit 1; }
answer=$(python3 - "http://$address/v1/completions" <<'END'
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], b'{"prompt": "to", "max_tokens": 3}', {"Content-Type": "application/json"})
print(urllib.request.urlopen(request, timeout=60).read().decode())
END
)
grep -q text_completion <<<"$answer"
# An open answer of a server that loses a process ends with an error.
rest=$(python3 - "http://$address/v1/completions" "$(pid_of_rank 1 "$server")" <<'END'
import os, signal, sys, urllib.request
body = b'{"prompt": "to", "max_tokens": 4000, "n": 100, "temperature": 1, "ignore_eos": true, "stream": true}'
stream = urllib.request.urlopen(urllib.request.Request(sys.argv[1], body, {"Content-Type": "application/json"}), timeout=60)
stream.readline()
os.kill(int(sys.argv[2]), signal.SIGKILL)
print(stream.read().decode())
END
)
grep -q '^data: {"error"' <<<"$rest" || { echo "expected an error at the end, found: $(tail -c 300 <<<"$rest")" >&2; exit 1; }
expect_end "$server" 30 "a server without rank 1"
wait "$server" || true
echo "all equal"
