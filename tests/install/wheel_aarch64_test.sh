#!/usr/bin/env bash
# wheel_aarch64_test.sh SOURCE WHEEL
# Tests the wheel for 64-bit ARM under qemu-user, with no library but Debian's C library. Installs it, and asks the demo
# model on each instruction set.
set -euo pipefail
source=$1 wheel=$2
size=$(stat -c %s "$wheel")
[ "$size" -le 40000000 ] || { echo "$wheel has $size bytes, expected at most 40000000" >&2; exit 1; }
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
for package in libc6 libgcc-s1 libstdc++6 zlib1g; do
  dpkg-deb -x "$source"/build-aarch64/apt/archives/"$package"_*_arm64.deb "$trial/bare"
done
platform=${wheel##*-}
platform=${platform%.whl}
"$source/build-wheel/tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  --platform "${platform%%.*}" --implementation py --abi none --target "$trial/site" "$wheel"

run() {  # CPU ISA OUTPUT
  QEMU_CPU=$1 PANDO_ISA=$2 qemu-aarch64-static -L "$trial/bare" "$trial/site/pando/bin/pando" run --threads 1 \
    --kv-memory 64MiB --input "$trial/in.jsonl" --ordered --logits-hash --output "$3" 2>"$trial/log.txt" ||
    { cat "$trial/log.txt" >&2; exit 1; }
}
head -1 "$source/docs/demo/documents.jsonl" >"$trial/in.jsonl"
run max portable "$trial/portable.jsonl"
for isa in neon dotprod i8mm; do
  run max $isa "$trial/$isa.jsonl"
  grep -q ", $isa$" "$trial/log.txt" || { cat "$trial/log.txt" >&2; exit 1; }
  cmp "$trial/portable.jsonl" "$trial/$isa.jsonl"
done
run cortex-a72 i8mm "$trial/old.jsonl"  # has neither dotprod nor i8mm
grep -q ', neon$' "$trial/log.txt" || { cat "$trial/log.txt" >&2; exit 1; }
cmp "$trial/portable.jsonl" "$trial/old.jsonl"
if [ -x "$source/build/pando" ]; then
  "$source/build/pando" run --threads 1 --kv-memory 64MiB --input "$trial/in.jsonl" --ordered --logits-hash \
    --output "$trial/here.jsonl" 2>/dev/null
  cmp "$trial/here.jsonl" "$trial/portable.jsonl"
fi
