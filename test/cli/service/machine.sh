# A machine of its own inside this one: a real systemd as process 1 of new namespaces. Its root is a copy in memory of
# the one around it, so that whatever its units do (tmpfiles empties /tmp) is done to the copy; it knows the units
# that are named here and no others, and has devices, /proc and /sys of its own, without the sysctls.
# Called by `unshare --mount --uts --ipc`: $1 the checkout, $2 a name for its cgroup.
set -eu
checkout=$1
name=$2
if [ "${3:-}" != inside ]; then
  mount --make-rprivate /
  mount -t tmpfs -o mode=755 tmpfs /mnt
  mkdir /mnt/cgroup
  mount -t cgroup2 cgroup2 /mnt/cgroup
  mkdir "/mnt/cgroup/$name"
  echo $$ >"/mnt/cgroup/$name/cgroup.procs"
  exec unshare --cgroup --pid --fork --kill-child bash "$0" "$checkout" "$name" inside
fi

mkdir /mnt/up /mnt/work /mnt/root
mount -t overlay -o lowerdir=/,upperdir=/mnt/up,workdir=/mnt/work overlay /mnt/root
root=/mnt/root
for folder in opt srv run tmp dev var/lib var/log var/tmp etc/systemd/system; do
  mkdir -p "$root/$folder"
  mount -t tmpfs -o mode=755 tmpfs "$root/$folder"
done
chmod 1777 "$root/tmp" "$root/var/tmp"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"

# As npm would install it, readable for all whatever the checkout's modes are.
app=$root/opt/interlock
mkdir -p "$app/node_modules"
cp -r "$checkout/bin" "$checkout/dist" "$checkout/package.json" "$app/"
for node in "$checkout"/node_modules/node-linux-*; do
  [ -x "$node/bin/node" ] || continue
  mkdir -p "$app/node_modules/${node##*/}/bin"
  cp "$node/bin/node" "$app/node_modules/${node##*/}/bin/node"
done
chmod -R a+rX "$app"

units=$root/etc/systemd/system
for target in sysinit basic network-online multi-user shutdown time-sync machine; do
  printf '[Unit]\nDefaultDependencies=no\n' >"$units/$target.target"
done
printf 'AllowIsolate=yes\nWants=journal.service\n' >>"$units/machine.target"
# The journal, without what it wants of a whole machine.
printf '[Unit]\nDefaultDependencies=no\nBefore=machine.target\n[Service]\nType=notify\nExecStart=/lib/systemd/systemd-journald\nRestart=always\n' >"$units/journal.service"
mkdir -p "$root/run/systemd/journald.conf.d" "$root/run/lock"
printf '[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\n' >"$root/run/systemd/journald.conf.d/test.conf"

cd "$root"
mkdir -p run/outside
pivot_root . run/outside
umount -l /run/outside
# What systemd mounts for a service (credentials) has to be seen by it; in a container nobody else sees to that.
mount --make-rshared /
exec env -i container=test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin SYSTEMD_UNIT_PATH=/etc/systemd/system \
  /lib/systemd/systemd --system --unit=machine.target --show-status=no --log-target=journal
