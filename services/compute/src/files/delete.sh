# delete.sh any <name>: deletes a file, a link itself, or a folder with its contents. `rm` walks by open folders and
# follows no link, also none that somebody puts in its way.
[ -e "./$2" ] || [ -L "./$2" ] || exit 64
exec rm -rf -- "./$2"
