#!/bin/bash
# Runs the one file in a Debian of nothing but what Vulkan needs: without Deno, without network, as a user without rights,
# in a folder whose name has spaces. Needs root, debootstrap and Debian's mirror.
#
#     deno task compile --output dist/ping-llm && bash tests/cli/cluster/bare_root.sh dist/ping-llm
set -euo pipefail

program=${1:?missing the path of the one file}
root=$(mktemp -d)
chmod 755 "$root"
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian >"$root.log" || { tail "$root.log"; exit 1; }
rm "$root.log"
echo "Debian: $(du -sm "$root" | cut -f1) MB"
chroot "$root" apt-get install -qq -y --no-install-recommends libvulkan1 mesa-vulkan-drivers >/dev/null 2>&1
chroot "$root" sh -c 'apt-get clean; rm -rf /var/lib/apt/lists/*'
echo "with libvulkan1 and mesa-vulkan-drivers: $(du -sm "$root" | cut -f1) MB"

user=4321
folder="/srv/ping llm"
mkdir -p "$root$folder"
cp "$program" "$root$folder/ping-llm"
cp "$(dirname "$0")/../fuzz/atlas.jsonl.bz2" "$root$folder/"
chown -R $user:$user "$root$folder"

within() {
  unshare --net --pid --fork --mount-proc --root="$root" --wd="$folder" --setgid=$user --setuid=$user \
    env -i PATH=/usr/bin:/bin HOME="$folder" NO_COLOR=1 "$@"
}

# Says how long a stage takes.
stage() {
  local start=$EPOCHREALTIME
  within ./ping-llm "$@" >"$root/out" 2>"$root/err" || { cat "$root/out" "$root/err"; exit 1; }
  printf '%5.1f s  %s: %s\n' "$(bc <<<"$EPOCHREALTIME - $start")" "$1" "$(head -n 1 "$root/out")"
}

if within sh -c 'command -v deno || command -v node'; then exit 1; fi
stage --version
echo "unpacked: $(du -sm "$root$folder/.cache" | cut -f1) MB"
stage --version
stage synth --output "in put/synth.parquet" --rows 20000 --probes 20 --destinations 10
stage import --input atlas.jsonl.bz2 --output "in put/atlas.parquet"
stage shard --input "in put" --output shards --train-shards 2 --val-shards 1 --test-shards 1 --split-by row
stage probe-rows --input shards --output rows --shards 2
stage train --data rows --run cold --config demo --steps 5
stage train --data rows --run run --config demo --steps 5
stage query rtt --checkpoint run --src 192.0.2.1 --dst 198.51.100.7
