# Run by systemd in the container: the service of the package as its users would use it.
set -eux
address=http://127.0.0.1:8000
ask() {
  curl --silent --show-error --fail --max-time 60 "$address/v1/completions" --header 'Content-Type: application/json' \
    --data '{"prompt": "Velina works as a tailor.", "max_tokens": 3}' | grep text_completion
}
until_true() {
  for _ in $(seq 100); do
    "$@" && return
    sleep 0.2
  done
  systemctl status pando.service
  return 1
}

# Installed, and not started.
[ "$(systemctl is-enabled pando.service || true)" = disabled ]
[ "$(systemctl is-active pando.service || true)" = inactive ]
systemctl enable --now pando.service  # returns when it serves
ask
[ "$(stat --format %u "/proc/$(systemctl show --value --property MainPID pando.service)")" != 0 ]
ls -d /var/cache/private/pando /var/lib/private/pando

# A server that is killed comes back; one that is stopped ends well.
kill -KILL "$(systemctl show --value --property MainPID pando.service)"
until_true ask
systemctl stop pando.service
[ "$(systemctl show --value --property Result pando.service)" = success ]

# A wrong option is told, and is not tried again.
echo 'no-such-option = 1' >>/etc/pando.toml
if systemctl start pando.service; then exit 1; fi
sleep 2
[ "$(systemctl show --value --property ExecMainStatus pando.service)" = 2 ]
[ "$(systemctl is-active pando.service || true)" = failed ]
journalctl --unit pando.service --no-pager | grep no-such-option
sed -i '$d' /etc/pando.toml
systemctl reset-failed pando.service
systemctl start pando.service
ask

apt-get remove -y -qq pando
[ "$(systemctl is-active pando.service || true)" = inactive ]
[ -e /etc/pando.toml ]
dpkg --purge pando
[ ! -e /etc/pando.toml ]
echo "all is well"
