# move.sh any|rename <old name> <new name>: moves to the folder that is open as file 3, and replaces nothing.
# `mv` copies from one disk to another; as root where a member could swap the copy's folders for links,
# it is rename(2) alone, which copies nothing and follows no link.
set -eu
old=./$2 new=/proc/self/fd/3/$3
[ -e "$old" ] || [ -L "$old" ] || exit 64
if [ -e "$new" ] || [ -L "$new" ]; then exit 66; fi
if [ "$1" = any ]; then
  mv --no-clobber --no-target-directory -- "$old" "$new"
  if [ -e "$old" ] || [ -L "$old" ]; then exit 66; fi
elif [ -d "$old" ] && [ ! -L "$old" ]; then
  exec perl -e 'rename $ARGV[0], $ARGV[1] or die "$!\n"' -- "$old" "$new"
else
  ln -PT -- "$old" "$new"
  rm -f -- "$old"
fi
