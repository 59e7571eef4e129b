#!/bin/sh
# Runs Deno with a software adapter that has matrix units, Mesa's lavapipe 26 or later: newer_mesa.sh ARGUMENTS…
# A system with an older Mesa gets that of Debian's trixie-backports, with the libraries that it needs, unpacked into
# a folder of the user's cache: 90 MB to fetch, once. Nothing is installed, and root is not needed.
set -eu
fail() { printf 'newer_mesa: error: %s\n' "$*" >&2; exit 1; }

MESA=26.1   # the version in trixie-backports; another one makes another folder
deno=$(readlink -f "$(command -v deno)") || fail "deno is not on PATH; run sh setup.sh"
has_matrices() { "$@" run --allow-all --no-check "$(dirname "$0")/has_matrices.ts" 2>/dev/null; }

if has_matrices "$deno"; then MATRIX_DENO=$deno exec "$deno" "$@"; fi

root=${XDG_CACHE_HOME:-$HOME/.cache}/ping-llm/mesa-$MESA
if [ ! -d "$root" ]; then
  for program in apt-get dpkg-deb; do
    command -v $program >/dev/null || fail "$program is missing; expected Mesa 26 or Debian's packages"
  done
  mkdir -p "$(dirname "$root")"
  new=$(mktemp -d "$root.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  mkdir -p "$new/apt/lists/partial" "$new/apt/cache/archives/partial"
  : > "$new/apt/status"
  # The mirror that this system uses, if it is one of Debian.
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m 1 -E '/debian/?$' || true)
  key=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -e $key ] || fail "$key is missing; install debian-archive-keyring"
  for suite in trixie trixie-backports; do
    echo "deb [signed-by=$key] ${mirror:-http://deb.debian.org/debian} $suite main"
  done > "$new/apt/sources.list"
  cat > "$new/apt/apt.conf" <<END
Dir "$new/apt"; Dir::State "$new/apt"; Dir::State::status "$new/apt/status"; Dir::Cache "$new/apt/cache";
Dir::Etc::sourcelist "$new/apt/sources.list"; Dir::Etc::sourceparts "-"; Dir::Etc::preferencesparts "-";
APT::Install-Recommends "false"; APT::Sandbox::User "";
END
  echo "newer_mesa: unpacking the Mesa of Debian's trixie-backports into $root" >&2
  export APT_CONFIG="$new/apt/apt.conf"
  apt-get update -qq || fail "Debian's package lists cannot be fetched from ${mirror:-deb.debian.org}"
  apt-get install -y -qq --download-only libc6 libvulkan1 mesa-vulkan-drivers/trixie-backports >/dev/null ||
    fail "Mesa of trixie-backports cannot be fetched"
  for package in "$new"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$new/root"; done
  mv "$new/root" "$root"
  rm -rf "$new"
  trap - EXIT
fi
libraries=$root/usr/lib/$(uname -m)-linux-gnu
# The other libc comes with its own loader, which starts Deno.
set -- "$(echo "$libraries"/ld-linux-*.so.*)" --library-path "$libraries" "$deno" "$@"
export VK_DRIVER_FILES="$root/usr/share/vulkan/icd.d/lvp_icd.json"
# How tests start further processes.
export MATRIX_DENO="$1 $2 $3 $4"
# shellcheck disable=SC2086  # four words on purpose
has_matrices $MATRIX_DENO || fail "the Mesa in $root has no matrix units; delete the folder and run this again"
exec "$@"
