# enter.sh <script> <owner|root> <folder> <other folder or ''> <argument…>
#
# Sent to a pod with each change of files and run there as root. It goes into the folder, makes sure that no link
# led there, and runs the script in it with the rights of the folder's owner alone, or as root where the script
# follows no link whatever happens meanwhile. The other folder is open as file 3. What the script is told as its
# first argument: `any`, or `rename` where as root it must not copy.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
umask 022

script=$1 rights=$2 folder=$3 other=$4
shift 4

# The working directory is held: where it is now is what counts, and not what its path leads to later.
enter() {
  cd -P -- "$1" 2>/dev/null || exit 64
  here=$(env pwd -P && echo .)
  [ "$here" = "$1
." ] || {
    printf '%s' "${here%
.}" >&2
    exit 65
  }
}

how=any
if [ -n "$other" ]; then
  enter "$other"
  exec 3<.
  other_owner=$(stat -c %u .)
  others_may=$(find . -maxdepth 0 -perm /022 ! -perm -1000)
fi
enter "$folder"
owner=$(stat -c %u .)
if [ -n "$other" ]; then
  if [ "$owner" != "$other_owner" ]; then how=rename owner=0; fi
  if [ "$owner" = 0 ] && [ -n "$others_may" ]; then how=rename; fi
fi
if [ "$rights" = root ] || [ "$owner" = 0 ]; then exec sh -c "$script" sh "$how" "$@"; fi

group=$(id -g "$owner" 2>/dev/null || echo 65534)
exec setpriv --reuid "$owner" --regid "$group" --clear-groups --inh-caps=-all --ambient-caps=-all \
  --bounding-set=-all --no-new-privs sh -c "$script" sh "$how" "$@"
