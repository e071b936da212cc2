#!/usr/bin/env bash
# The Debian package and its service, in a container with systemd. 77: no root, debootstrap or systemd-nspawn.
# package_test.sh SOURCE DEB FOLDER
set -euo pipefail
source=$1 deb=$2 system=$3/bookworm-systemd
[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null && command -v systemd-nspawn >/dev/null ||
  { echo "skipped: needs root, debootstrap and systemd-nspawn"; exit 77; }
. "$source/tests/install/bare_system.sh"

make_system bookworm "$system" systemd systemd-sysv dbus curl
in_system "$system" apt-get purge -qq -y pando >/dev/null 2>&1 || true
rm -rf "$system/trial"
mkdir "$system/trial"
cp "$deb" "$source/tests/install/package_trial.sh" "$system/trial"
in_system "$system" apt-get install -qq -y --no-install-recommends "/trial/$(basename "$deb")" >"$system.log" 2>&1 ||
  { tail -20 "$system.log" >&2; exit 1; }
in_system "$system" pando --version >/dev/null

cat >"$system/etc/systemd/system/trial.service" <<'END'
[Service]
Type=oneshot
ExecStart=/bin/bash /trial/package_trial.sh
ExecStopPost=/bin/systemctl poweroff --no-block
StandardOutput=file:/trial/log.txt
StandardError=inherit
[Install]
WantedBy=multi-user.target
END
in_system "$system" systemctl enable --quiet trial.service
timeout 300 systemd-nspawn --quiet --directory "$system" --boot --private-network --register=no --keep-unit \
  --machine="pando-trial-$$" </dev/null >"$system.log" 2>&1 || true
grep -qx "all is well" "$system/trial/log.txt" || { cat "$system/trial/log.txt" >&2; exit 1; }
