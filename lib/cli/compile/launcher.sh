#!/bin/sh
# ping-llm @VERSION@ for @SYSTEM@: this script, followed by a gzipped tar archive of Deno, the program and its
# packages. The first start unpacks the archive into a cache folder; every start runs the unpacked files, without
# network. It needs sh, tail, gzip, tar and the usual file commands.
set -u
hash=@HASH@
offset_bytes=@OFFSET_BYTES@
size_bytes=@SIZE_BYTES@
unpacked_mb=@UNPACKED_MB@
num_files=@NUM_FILES@
system='@SYSTEM@'

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 1
}

# Prints the mode and owner of a folder, such as `drwx------ 1000`.
describe() {
  # shellcheck disable=SC2012  # every ls shows both; names are not read
  ls -ldn "$1" 2>/dev/null | { read -r mode _ owner _ && echo "$mode $owner"; }
}

# Prints a folder for temporary files that only this user can access, even if others used its name before; or nothing.
private_folder() {
  folder=${TMPDIR:-/tmp}/ping-llm-$uid
  mkdir -m 700 "$folder" 2>/dev/null
  case $(describe "$folder") in drwx------*" $uid") [ -w "$folder" ] && echo "$folder" ;; esac
}

# Whether only this user and root can replace what is in a folder; in a sticky folder, others can only add.
is_safe() {
  found=$(describe "$1")
  case $found in *" $uid" | *" 0") ;; *) return 1 ;; esac
  case $found in d????-??-* | d????????[tT]*) ;; *) return 1 ;; esac
}

# Uses the files that another start unpacked, unless they changed or users other than this one and root can change them.
find_in() {
  [ -x "$1/$hash/deno" ] && { read -r found <"$1/$hash/whole"; } 2>/dev/null && [ "$found" = "$hash" ] || return
  is_safe "$1" && is_safe "$1/$hash" || return
  [ -z "$(find "$1/$hash" \( ! -user "$uid" ! -user 0 \) -o \( ! -type l \( -perm -020 -o -perm -002 \) \) -o \
    \( -type f -newer "$1/$hash/whole" \) 2>&1)" ] || return
  # In a folder for temporary files, some may have been deleted.
  case $1 in "$private"/*) [ "$(find "$1/$hash" -type f | wc -l)" -eq "$num_files" ] || return ;; esac
  root=$1/$hash
}

find_unpacked() {
  for cache in "$own_cache" "$home_cache" "${private:+$private/unpacked}"; do
    [ -n "$cache" ] && find_in "$cache" && return
  done
  return 1
}

# Unpacks under a unique name and renames it, so that no other start, on any machine, sees a part.
unpack_in() {
  tried="$tried${tried:+, }$1"
  is_there=
  [ -e "$1/$hash" ] && is_there=yes
  find_in "$1" && return
  mkdir -p "$1" 2>/dev/null
  # Older versions let the group write to it.
  case $(describe "$1") in *" $uid") is_safe "$1" || chmod go-w "$1" 2>/dev/null ;; esac
  is_safe "$1" || { why="others can write to $1" && return 1; }
  work=$(mktemp -d "$1/.$hash.XXXXXX" 2>/dev/null) || return
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 75' TERM USR2
  # A folder that existed before and is incomplete will never be completed.
  [ -n "$is_there" ] && mv "$1/$hash" "$work.broken" && rm -rf "$work.broken"
  # Leftovers of killed starts.
  find "$1" -maxdepth 1 -type d -name '.*.??????' -mtime +0 -exec rm -rf {} + 2>/dev/null
  if { tail -c "+$((offset_bytes + 1))" "$self" | gzip -dc && : >"$work/whole"; } 2>/dev/null |
    tar -xmf - -C "$work" 2>/dev/null && [ -e "$work/whole" ] && why=$("$work/deno" --version 2>&1 >/dev/null)
  then
    # Newer than all other files, so that changed files are recognised.
    echo "$hash" >"$work/whole"
    sync -f "$work" 2>/dev/null || sync
    # If another start was faster, this moves into its folder or fails; either is undone.
    [ -d "$1/$hash" ] || mv "$work" "$1/$hash" 2>/dev/null
    rm -rf "$1/${hash:?}/${work##*/}"
  fi
  rm -rf "$work"
  trap - EXIT INT TERM USR2
  find_in "$1"
}

unpack() {
  [ -r "$self" ] || fail "Cannot unpack ping-llm: $self cannot be read, expected the file itself; start it by its path"
  found_bytes=$(($(wc -c <"$self")))
  [ "$found_bytes" = "$size_bytes" ] ||
    fail "Cannot unpack $self: it has $found_bytes bytes, expected $size_bytes; copy it again"
  mask=$(umask)
  umask 022
  for cache in "$own_cache" "$home_cache" "${private:+$private/unpacked}"; do
    [ -n "$cache" ] && unpack_in "$cache" && umask "$mask" && return
  done
  tail -c "+$((offset_bytes + 1))" "$self" | gzip -t 2>/dev/null ||
    fail "Cannot unpack $self: its bytes are damaged; copy it again"
  fail "Cannot unpack ping-llm in $tried: ${why:-it could not be written}, expected a folder with $unpacked_mb MB free \
that lets programs run; set XDG_CACHE_HOME to one"
}

main() {
  self=$0
  tried=
  why=
  uid=$(id -u)
  [ "$(uname -sm)" = "$system" ] ||
    fail "Cannot run ping-llm on $(uname -sm): it was made for $system; compile it on such a machine"
  private=$(private_folder)
  own_cache=
  home_cache=
  case ${XDG_CACHE_HOME-} in /*) own_cache=$XDG_CACHE_HOME/ping-llm ;; esac
  case ${HOME-} in /*) home_cache=$HOME/.cache/ping-llm ;; esac
  find_unpacked || unpack
  # The runtime's caches for faster starts: databases, which do not work well on network file systems.
  export DENO_DIR="${private:-$root}/deno" DENO_NO_UPDATE_CHECK=1
  case ${1-} in
@FLAGS@
    *) flags= ;;
  esac
  # Jobs on other machines have to start this file, whose path the program does not know.
  case "${1-} $*" in
    *' --program'[\ =]*) ;;
    'slurm '*)
      case $self in /*) ;; *) self=$PWD/${self#./} ;; esac
      shift
      set -- slurm --program "$self" "$@"
      ;;
  esac
  # shellcheck disable=SC2086  # flags are words
  exec "$root/deno" run --no-prompt --cached-only --config "$root/program/deno.json" $flags \
    "$root/program/tasks/main.ts" "$@"
}

main "$@"
exit
