# save.sh any <name>: puts what comes in into the place of a file: blocks, each after a line with its length, and
# the line `end`. Whatever ends earlier leaves nothing. The part has a name that nobody foresees, and is
# changed through the open file alone.
set -eu
name=./$2
mode=0644 owner=
if [ -L "$name" ]; then
  readlink -- "$name" >&2
  exit 68
fi
if [ -e "$name" ]; then
  [ -f "$name" ] || exit 67
  mode=$(stat -c %a -- "$name")
  owner=$(stat -c %u:%g -- "$name")
fi
part=$(mktemp -u -- "./$(printf '%.230s' "$2").XXXXXXXXXX").part

set -C
exec 4>"$part"
trap 'rm -f -- "$part"' EXIT
while read -r size && [ "$size" != end ]; do head -c "$size" >&4 || exit 1; done
[ "${size:-}" = end ] || exit 69

# As root the owner stays; anybody else's file becomes that of the folder's owner.
if [ -n "$owner" ] && [ "$(id -u)" = 0 ]; then chown "$owner" /proc/self/fd/4; fi
chmod "$(printf %o $((0$mode & 0777)))" /proc/self/fd/4
mv -fT -- "$part" "$name"
trap - EXIT
