#!/usr/bin/env bash
# Tokens per second of llama.cpp, or of a fork with the same programs, for `pando bench compare --peer`.
#
#   llama_cpp.sh BIN MODELS KIND TOKENS SEQUENCES ANSWER THREADS WEIGHTS
#
# BIN holds llama-bench and llama-batched-bench; MODELS holds qwen3-0.6b-WEIGHTS.gguf, as written by
# tools/random_gguf.py. PEER_FLAGS adds flags to the first program, PEER_BATCHED_FLAGS to the second (-kvu
# for llama.cpp since 2025, so that sequences share the prompt's memory).
set -euo pipefail
if [ $# -ne 8 ]; then
  echo "usage: llama_cpp.sh BIN MODELS KIND TOKENS SEQUENCES ANSWER THREADS WEIGHTS" >&2
  exit 2
fi
bin=$1 models=$2 kind=$3 tokens=$4 sequences=$5 answer=$6 threads=$7 weights=$8
model=$models/qwen3-0.6b-${weights%_dot}.gguf  # with bf16 weights both peers round activations too
read -ra flags <<<"${PEER_FLAGS:-}"
read -ra batched_flags <<<"${PEER_BATCHED_FLAGS:-}"

# Other output of a program is kept, for the case that it fails or prints no figure.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
failed() {
  tail -n 20 "$said" >&2
  local why  # pando shows the last line only
  why=$(grep -iE 'error|invalid|unknown|fail|no such' "$said" | head -n 1 || true)
  echo "$1: ${why:-$(tail -n 1 "$said")}" >&2
  exit 1
}
field() {  # NAME: its value in the last line that has one, JSON
  grep -o "\"$1\": *[0-9.]*" | tail -n 1 | grep -o '[0-9.]*$'
}
single() {
  local printed
  printed=$("$bin/llama-bench" -m "$model" -t "$threads" -r 1 -o json "$@" "${flags[@]}" 2>"$said") ||
    failed "$bin/llama-bench ended with status $?"
  field avg_ts <<<"$printed" || failed "$bin/llama-bench printed no avg_ts"
}
case $kind in
  prefill) single -p "$tokens" -n 0 ;;
  decode) single -p 0 -n "$answer" ;;
  shared)
    context=$((tokens + sequences * (answer + 1) + 64))
    "$bin/llama-batched-bench" -m "$model" -t "$threads" -tb "$threads" -c "$context" -b 2048 -ub 512 \
      -npp "$tokens" -ntg "$answer" -npl "$sequences" -pps --output-format jsonl "${batched_flags[@]}" >"$said" 2>&1 ||
      failed "$bin/llama-batched-bench ended with status $?"
    # The fork prints a table whatever the format.
    field speed_tg <"$said" || grep '^|' "$said" | tail -n 1 | cut -d'|' -f9 | grep '[0-9]' ||
      failed "$bin/llama-batched-bench printed no figure"
    ;;
  *) echo "'$kind' is no row, expected prefill, decode or shared" >&2; exit 2 ;;
esac
