#!/bin/sh
# Starts the program of this folder. With a C library older than @GLIBC@ the one that came along is taken, by its own loader; OpenCL and CUDA
# are then not found, since drivers are made for the system's.
folder=$(dirname "$(dirname "$(readlink -f "$0")")")
system=$(getconf GNU_LIBC_VERSION 2>/dev/null)
system=${system#glibc }
case $(uname -m) in
  x86_64) ;;
  *) echo "trainyard: this archive is for x86-64 processors, this is $(uname -m)" >&2; exit 1 ;;
esac
if [ -n "$system" ] && [ "$(printf '%s\n' @GLIBC@ "$system" | sort -V | head -n 1)" = @GLIBC@ ]; then
  exec "$folder/lib/trainyard" "$@"
fi
# What the program starts of itself goes through this file again.
TRAINYARD_PROGRAM=$folder/bin/trainyard exec "$folder/lib/glibc/ld-linux-x86-64.so.2" --library-path "$folder/lib:$folder/lib/glibc" \
  --argv0 trainyard "$folder/lib/trainyard" "$@"
