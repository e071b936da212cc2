# To be sourced by root: bare Debian systems in folders.

# in_system FOLDER COMMAND...: runs it there as root, with /proc and /dev.
in_system() {
  local folder=$1
  shift
  unshare --mount --pid --fork bash -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && exec chroot "$0" "$@"' \
    "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

# as_user FOLDER COMMAND: the same as a plain user, in their home.
as_user() {
  in_system "$1" su --login user --command "$2"
}

# make_system SUITE FOLDER PACKAGE...: the smallest system of this release of Debian, and these packages. Does nothing
# once it is made.
make_system() {
  local suite=$1 folder=$2
  shift 2
  [ ! -e "$folder/made" ] || return 0
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  debootstrap --variant=minbase "$suite" "$folder" >"$folder.log" 2>&1 &&
    cp /etc/resolv.conf "$folder/etc/" &&
    in_system "$folder" apt-get install -qq -y --no-install-recommends "$@" >>"$folder.log" 2>&1 &&
    in_system "$folder" useradd --create-home user &&
    touch "$folder/made" && return
  tail -20 "$folder.log" >&2
  return 1
}
