#!/bin/sh
# npm run release [-- DIRECTORY]: builds the commit that is checked out and packs it (package.sh) in DIRECTORY, with
# checksums. No package of npm runs a script of its own, and the native parts are compiled here (native.sh). Two releases
# of one commit, on one machine, are the same bytes.
set -eu
umask 022
out=$(mkdir -p "${1:-dist/release}" && cd "${1:-dist/release}" && pwd)
cd "$(dirname "$0")/.."
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo 'release.sh: files differ from the commit; commit them first, or put them aside' >&2
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

git archive --prefix=qmemacct/ HEAD | tar -x -C "$work"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

cd "$work/qmemacct"
npm ci --ignore-scripts --no-audit --no-fund
sh .ci/native.sh
npm run --ignore-scripts build
sh .ci/package.sh . "$out"
