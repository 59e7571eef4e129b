#!/bin/bash
# Builds the image of .github/Containerfile on a base made by debootstrap, without a daemon or a registry of images, and
# trains and serves in it. Needs root, buildah, debootstrap, curl, Debian's mirror and npm's registry.
#
#     bash tests/cli/cluster/container.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."

export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
base='' container=''
trap 'buildah rm $base $container >/dev/null 2>&1; rm -rf "$work"' EXIT

debootstrap --variant=minbase trixie "$work/debian" http://deb.debian.org/debian >"$work/log" || { tail "$work/log"; exit 1; }
base=$(buildah from scratch)
buildah copy --quiet "$base" "$work/debian" / >/dev/null
# Where the network has certificates of its own, programs of the image need them too.
if [ -n "$(ls /usr/local/share/ca-certificates 2>/dev/null)" ]; then
  buildah copy --quiet "$base" /usr/local/share/ca-certificates /usr/local/share/ca-certificates >/dev/null
  file=/etc/ssl/certs/ca-certificates.crt
  buildah config --env NODE_EXTRA_CA_CERTS=$file --env SSL_CERT_FILE=$file --env DENO_TLS_CA_STORE=system "$base"
fi
buildah commit --quiet "$base" localhost/debian13 >/dev/null
buildah build --network host --build-arg BASE=localhost/debian13 --file .github/Containerfile --tag ping-llm .

mkdir -m 755 "$work/shared"
cat >"$work/shared/inside.sh" <<'INSIDE'
set -e
ping-llm --version
ping-llm synth --rows 5000 --output synth.parquet
ping-llm probe-rows --input synth.parquet --output rows --split-by row
ping-llm train --data rows --run run --steps 5
ping-llm serve --checkpoint run --host 0.0.0.0 --port 18080 &
until [ -e /shared/answer ]; do kill -0 $!; sleep 1; done
kill $!
wait $! || [ $? = 75 ]
INSIDE
container=$(buildah from localhost/ping-llm)
buildah run --network host --volume "$work/shared:/shared:ro" "$container" -- sh /shared/inside.sh &
question='http://127.0.0.1:18080/v1/rtt?src=192.0.2.1&dst=198.51.100.7'
until curl --silent --fail "$question" --output "$work/answer"; do
  kill -0 $! || { echo "the container ended before it answered"; exit 1; }
  sleep 1
done
mv "$work/answer" "$work/shared/answer"
wait $!
head -c 200 "$work/shared/answer"
echo
