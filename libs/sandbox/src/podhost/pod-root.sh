#!/bin/sh
# pod-root.sh <pod's folder> <first uid> <mount path> <volume|disk> <full|bare> <image's folder> \
#   <openssh's folder, or ''>
#
# The first process of a pod: in mount, pid, net, uts and ipc namespaces of its own, still as the machine's root.
# It builds the pod's root, leaves the machine's, and only then runs the image's entrypoint, in a user
# namespace whose ids mean nobody on the machine. All that the pod may write lies below the pod's folder.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022

# What one pod may take of the machine. Inherited by all its processes; only the machine's root raises them.
MOST_PROCESSES=1024       # of each account of the pod
MOST_MEMORY=4294967296    # of each process, in bytes: its data, not what it only reserves
MOST_FILE=17179869184     # of each file, in bytes
RUN_BYTES=16m             # /run, in memory
SHM_BYTES=64m             # /dev/shm, in memory, as Docker has it

pod=$1 first=$2 mount_path=$3 storage=$4 kind=$5 image=$6 openssh=$7

fail() {
  echo "$1" >&2
  exit 1
}
# Never go on in the machine's own namespaces: what follows mounts, and deletes below the pod's folder.
[ $$ -eq 1 ] || fail 'pod-root.sh must be the first process of a pid namespace'
for kind_of in mnt net; do
  [ "$(readlink /proc/self/ns/$kind_of)" != "$(readlink /proc/1/ns/$kind_of)" ] ||
    fail "pod-root.sh shares the $kind_of namespace of the machine"
done

cd "$pod"
rm -rf disk local # the container disk is new at each start
mkdir -p disk volume local/bin local/sbin local/lib
mount --bind disk disk
cd disk
mkdir -p etc/ssh/sshd_config.d usr proc dev run root home tmp var/tmp var/log var/lib opt srv old ".$mount_path"
chmod 0700 root
chmod 1777 tmp var/tmp

# Of the machine's /etc what programs need to run, and nothing that is secret.
for name in ld.so.cache ld.so.conf ld.so.conf.d alternatives ssl/certs localtime \
  bash.bashrc profile inputrc skel services protocols debian_version os-release; do
  [ -e "/etc/$name" ] || continue
  mkdir -p "etc/$(dirname "$name")"
  cp -RP "/etc/$name" "etc/$name"
done
cp /usr/share/base-passwd/passwd.master etc/passwd 2>/dev/null || echo 'root:*:0:0:root:/root:/bin/bash' >etc/passwd
cp /usr/share/base-passwd/group.master etc/group 2>/dev/null || echo 'root:*:0:' >etc/group
echo 'sshd:*:100:65534::/run/sshd:/usr/sbin/nologin' >>etc/passwd
echo '127.0.0.1 localhost' >etc/hosts
printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n' >etc/nsswitch.conf
printf 'Include /etc/ssh/sshd_config.d/*.conf\nAcceptEnv LANG LC_*\nSubsystem sftp /usr/lib/openssh/sftp-server\n' >etc/ssh/sshd_config

# The pod's whole network is its loopback. As in a container, its root may take low ports and not set it up otherwise.
mount -t sysfs sysfs old
echo 0x9 >old/class/net/lo/flags # IFF_UP | IFF_LOOPBACK
umount old

# The image. A bare one gets all but its entrypoint from CLI_SETUP.
cp "$image/compute-entrypoint" ../local/bin/
if [ "$kind" = full ]; then
  cp "$image/compute-login" ../local/bin/
  cp "$image/compute-prepare" ../local/sbin/
  cp "$image/sshd_compute.conf" etc/ssh/sshd_config.d/00-compute.conf
fi
chmod -R u=rwX,go=rX ../local
chown -hR "$first:$first" . ../local
[ "$(stat -c %u ../volume)" != 0 ] || chown "$first:$first" ../volume

# The system's programs, read-only. Unpacked OpenSSH lies over them as if it had been installed.
if [ -n "$openssh" ]; then
  mount --bind "$openssh/usr" old
  mount -t overlay -o ro,nosuid,nodev,lowerdir=old:/usr overlay usr
  umount old
else
  mount --bind /usr usr
  mount -o remount,bind,ro,nosuid,nodev usr
fi
for name in bin sbin lib lib32 lib64 libx32; do
  if [ -L "/$name" ]; then
    cp -P "/$name" "$name"
  elif [ -d "/$name" ]; then
    mkdir "$name"
    mount --bind "/$name" "$name"
    mount -o remount,bind,ro,nosuid,nodev "$name"
  fi
done
mount --bind ../local usr/local
mount -o remount,bind,nosuid,nodev usr/local
if [ "$storage" = volume ]; then
  mount --bind ../volume ".$mount_path"
  mount -o remount,bind,nosuid,nodev ".$mount_path"
fi

mount -t proc -o nosuid,nodev,noexec proc proc
echo 0 >proc/sys/net/ipv4/ip_unprivileged_port_start
mount -t tmpfs -o "mode=755,uid=$first,gid=$first,nosuid,nodev,size=$RUN_BYTES" run run
mount -t tmpfs -o mode=755,nosuid,noexec,size=64k dev dev
mkdir dev/pts dev/shm
for name in null zero full random urandom tty; do
  : >"dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mount -t devpts -o "newinstance,ptmxmode=0666,mode=620,gid=$((first + 5)),nosuid,noexec" devpts dev/pts
mount -t tmpfs -o "mode=1777,nosuid,nodev,size=$SHM_BYTES" shm dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
hostname "$(basename "$pod")"

# unshare asks newuidmap and newgidmap to write the maps; as the machine's root nobody else is needed.
mkdir run/pod
for ids in uid gid; do
  printf '#!/bin/sh\necho "0 %s 65536" >"/proc/$1/%s_map"\n' "$first" "$ids" >"run/pod/new${ids}map"
  chmod 0755 "run/pod/new${ids}map"
done
cp ../env run/pod/env
# Set inside: the kernel counts the processes of a limit set outside over all pods and the machine's root.
cat >run/pod/start <<END
exec prlimit --nproc=$MOST_PROCESSES --data=$MOST_MEMORY --fsize=$MOST_FILE sh /run/pod/enter
END
cat >run/pod/enter <<'END'
exec xargs -0 -x -s 1000000 -a /run/pod/env sh -c 'rm -r /run/pod
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root "$@" compute-entrypoint' sh
END
chown -hR "$first:$first" run/pod

pivot_root . old
umount -l /old
rmdir /old
cd /

# All that holds the machine's ids is this process, which waits and is not the pod's to signal. File 3 is the
# lock on the pod's folder.
PATH=/run/pod:$PATH unshare --user --map-users "$first,0,65536" --map-groups "$first,0,65536" \
  --setuid 0 --setgid 0 --mount --propagation private sh /run/pod/start 3>&- &
wait $!
