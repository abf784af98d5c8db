# Sourced by tools/check_package and tools/check_archive: a fresh Debian in a folder of its own, with a namespace for its mounts. Needs root,
# debootstrap and a mirror (TY_MIRROR). TY_ROOTS names a folder with roots that debootstrap made before, each named by its release.
[ "$(id -u)" -eq 0 ] || { echo "$0: root is needed to make a root of its own" >&2; exit 1; }
if [ -z "${TY_IN_NAMESPACE:-}" ]; then
  TY_IN_NAMESPACE=1 exec unshare --mount --pid --fork "$0" "$@"
fi
work=$(mktemp -d)
trap 'umount -R "$work"/*/proc "$work"/*/dev 2>/dev/null || true; rm -rf "$work"' EXIT

# make_root RELEASE: sets $root.
make_root() {
  root=$work/$1
  if [ -d "${TY_ROOTS:-/nowhere}/$1" ]; then
    cp -a "$TY_ROOTS/$1" "$root"
  else
    debootstrap --variant=minbase "$1" "$root" "${TY_MIRROR:-http://deb.debian.org/debian}" >"$work/log" || { tail -5 "$work/log" >&2; exit 1; }
  fi
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  [ ! -f /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
step() { echo "== $*"; }

# use_program PROGRAM: what a new user tries first.
use_program() {
  step "version"
  inside "$1" version --verbose | sed -n 1,12p
  step "doctor"
  inside "$1" doctor
  step "lab list"
  inside "$1" lab list | tail -3
  step "train"
  inside "$1" train --model lenet5 --data synthetic:1x28x28,classes=4,size=128 --epochs 1 --batch 16 --runs-dir /tmp/runs --quiet
  step "serve"
  inside sh -c 'program=$1; $program serve lenet5 --port 8123 & server=$!
    for i in $(seq 50); do sleep 0.2; $program serve bench http://127.0.0.1:8123 --model lenet5 --concurrency 1 --seconds 0.5 2>/dev/null && break; done
    kill $server; wait $server' sh "$1"
}
