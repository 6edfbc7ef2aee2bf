# make.sh any <name>: makes a folder.
if [ -e "./$2" ] || [ -L "./$2" ]; then exit 66; fi
exec mkdir -- "./$2"
