#!/bin/sh
# npm run release [-- DIRECTORY]: builds DIRECTORY/qmemacct-VERSION-linux-ARCH-nodeMAJOR.tar.gz and its .sha256 from the
# commit that is checked out. No package runs a script of its own, and the native parts are compiled here (native.sh).
# Unpacked on a host it is what `bin/qmemacct install --node` takes the program from.
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

name=qmemacct-$(node -p 'require("./package.json").version')
platform=$(node -p '`${process.platform}-${process.arch}-node${process.versions.node.split(".")[0]}`')
git archive --prefix="$name/" HEAD | tar -x -C "$work"
# The same commit gives the same times.
time=$(git log -1 --format=%ct)

cd "$work/$name"
npm ci --ignore-scripts --no-audit --no-fund
sh .ci/native.sh
npm run --ignore-scripts build

# What an installation consists of, and the launcher that starts it.
node -e '
  const { programFiles } = require("./dist/src/cli/install/program-files.js");
  console.log(["bin/qmemacct", "package-lock.json", ...programFiles(process.cwd())].join("\n"));
' >"$work/files"
tar -c --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --transform="s,^,$name/," \
  -T "$work/files" | gzip -n >"$out/$name-$platform.tar.gz"
cd "$out"
sha256sum "$name-$platform.tar.gz" >"$name-$platform.tar.gz.sha256"

# It starts, with its native parts, from the archive alone.
mkdir "$work/unpacked"
tar -x -C "$work/unpacked" -f "$name-$platform.tar.gz"
cd "$work/unpacked/$name"
bin/qmemacct --version >/dev/null && node -e 'require("better-sqlite3"); require("koffi")' || {
  echo 'release.sh: the program in the archive does not start' >&2
  exit 1
}
echo "$out/$name-$platform.tar.gz"
