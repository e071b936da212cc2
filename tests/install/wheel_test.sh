#!/usr/bin/env bash
# The wheel on bare Debian systems, as a plain user without a compiler; then with MPI. 77: no root or debootstrap.
# wheel_test.sh SOURCE WHEEL FOLDER SUITE...
set -euo pipefail
source=$1 wheel=$2 folder=$3
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { echo "skipped: needs root and debootstrap"; exit 77; }
. "$source/tests/install/bare_system.sh"

size=$(stat -c %s "$wheel")
[ "$size" -le 40000000 ] || { echo "$wheel has $size bytes, expected at most 40000000" >&2; exit 1; }
for suite in "${@:4}"; do
  for kind in bare mpi; do
    echo "$suite $kind"
    system=$folder/$suite-$kind packages=(python3-venv)
    [ "$kind" = bare ] || packages+=(openmpi-bin)
    make_system "$suite" "$system" "${packages[@]}"
    version=$(in_system "$system" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    rm -rf "$system/trial"
    mkdir "$system/trial"
    cp "$wheel" "$source/tests/install/wheel_trial.sh" "$source/docs/demo/documents.jsonl" "$source/examples/answer.py" "$system/trial"
    # This is what pip would fetch, so that the system needs no network.
    "$source/build-wheel/tools/bin/pip" download --quiet --disable-pip-version-check --only-binary :all: --python-version "$version" \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 \
      --dest "$system/trial" "numpy>=1.21"
    as_user "$system" "sh /trial/wheel_trial.sh $kind"
  done
done
