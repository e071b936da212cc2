#!/bin/sh
# Run by a plain user in a bare system: installs the wheel from /trial and uses it. wheel_trial.sh bare|mpi
set -eu
kind=$1
for tool in cc gcc g++ cmake; do
  if command -v "$tool"; then echo "found $tool, expected no compiler" >&2; exit 1; fi
done
[ "$(id -u)" != 0 ]
cd
rm -rf trial && mkdir trial && cd trial
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --no-index --find-links /trial pando
PATH=$PWD/venv/bin:$PATH
options="--threads 1 --kv-memory 64MiB"
expect() {  # WHAT TEXT FILE
  grep -q -- "$2" "$3" || { echo "$1: expected '$2', found:" >&2; cat "$3" >&2; exit 1; }
}

head -3 /trial/documents.jsonl >in.jsonl
if [ "$kind" = mpi ]; then
  pando run $options --input in.jsonl --output one.jsonl --logits-hash 2>log.txt
  for parallel in tp=2 spp=2 replicas=2; do
    mpirun --oversubscribe -n 2 pando run $options --input in.jsonl --output "$parallel.jsonl" --logits-hash \
      --parallel "$parallel" 2>log.txt || { cat log.txt >&2; exit 1; }
    sort "$parallel.jsonl" >many.txt
    sort one.jsonl | cmp - many.txt
  done
  exit
fi

pando --version >version.txt
python -m pando --version | cmp - version.txt
echo '{"prompt": "Velina works as a tailor."}' >prompt.jsonl
pando run $options --input prompt.jsonl --max-tokens 1 --output - >answer.txt 2>log.txt
expect "an answer" finish_reason answer.txt
pando verify $options --input in.jsonl >verify.txt 2>&1 || { cat verify.txt >&2; exit 1; }
for isa in portable avx2 avxvnni avx512 avx512bf16 amx; do
  PANDO_ISA=$isa pando run $options --input in.jsonl --logits-hash --ordered --output "$isa.jsonl" 2>log.txt
  cmp portable.jsonl "$isa.jsonl"
done
if pando run $options --input in.jsonl --output none.jsonl --parallel tp=2 2>log.txt; then exit 1; fi
expect "without MPI" "MPI is not available: found 'libmpi.so.40: cannot open shared object file" log.txt

python /trial/answer.py >python.txt
expect "Python" tailor python.txt

pando serve $options --port 0 >serve.txt 2>&1 &
server=$!
for _ in $(seq 300); do
  address=$(grep -o '127\.0\.0\.1:[0-9]*' serve.txt | head -1) && [ -n "$address" ] && break
  sleep 0.1
done
python - "http://$address/v1/completions" >completion.txt <<'END'
import sys, urllib.request
body = b'{"prompt": "Velina works as a tailor.", "max_tokens": 3}'
request = urllib.request.Request(sys.argv[1], body, {"Content-Type": "application/json"})
print(urllib.request.urlopen(request, timeout=60).read().decode())
END
expect "a server" text_completion completion.txt
kill "$server"
wait "$server"

for file in share/man/man1/pando.1 share/bash-completion/completions/pando share/zsh/site-functions/_pando \
  share/fish/vendor_completions.d/pando.fish lib/python3*/site-packages/pando/include/pando.h; do
  [ -s venv/$file ] || { echo "no $file" >&2; exit 1; }
done
