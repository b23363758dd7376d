#!/bin/sh
# Compiles the native parts (better-sqlite3, koffi) from the sources that package-lock.json names, after
#   npm ci --ignore-scripts
# which runs no package's script. Nothing is downloaded here: the headers are those of the Node that runs (or NODEDIR's),
# and binaries that came with packages are removed first, so that none but ours can be loaded. Where NODEDIR is Node for
# another architecture, they are compiled for that one.
set -eu
cd "$(dirname "$0")/.."
fail() {
  echo "native.sh: $*" >&2
  exit 1
}

node=$(node -p process.execPath)
nodedir=${NODEDIR:-$(dirname "$(dirname "$node")")}
[ ! -x "$nodedir/bin/node" ] || node=$nodedir/bin/node
[ -f "$nodedir/include/node/node_api.h" ] ||
  fail "$nodedir/include/node: no headers of Node $(node -p process.version); install them there, or give NODEDIR"
target=$("$node" -p 'process.version + " " + process.arch') ||
  fail "$node does not run here; install what lets it (Debian: qemu-user-static, binfmt-support)"
arch=${target#* }
compiler='g++'
[ "${target% *}" = "$(node -p process.version)" ] || fail "$node is not the version that runs, $(node -p process.version)"
if [ "$arch" != "$(node -p process.arch)" ]; then
  case $arch in
  arm64) processor=aarch64 ;;
  *) fail "$arch: not an architecture that this script compiles for" ;;
  esac
  compiler=g++-$processor-linux-gnu
  export CC="$processor-linux-gnu-gcc" CXX="$processor-linux-gnu-g++" AR="$processor-linux-gnu-ar"
  cross="--toolchain linux_$arch --define CMAKE_SYSTEM_NAME=Linux --define CMAKE_SYSTEM_PROCESSOR=$processor"
fi
for tool in "${CXX:-c++}" make cmake python3; do
  command -v "$tool" >/dev/null || fail "$tool: not found; install it (Debian: $compiler make cmake python3)"
done
# Not below "npm root -g": that is where a user's configuration leads it.
npm=$(readlink -f "$(command -v npm)") || fail 'npm: not found; install it as Node brings it'
gyp=${npm%/bin/*}/node_modules/node-gyp/bin/node-gyp.js
[ -f "$gyp" ] || fail 'node-gyp: not found beside npm; install npm as Node brings it'
[ -d node_modules/koffi ] || fail 'node_modules: not there; run "npm ci --ignore-scripts" first'

# The same wherever the sources lie.
export CFLAGS="${CFLAGS-} -ffile-prefix-map=$PWD=." CXXFLAGS="${CXXFLAGS-} -ffile-prefix-map=$PWD=."
rm -rf node_modules/@koromix node_modules/koffi/build
find node_modules -name '*.node' -delete
for directory in node_modules/better-sqlite3 node_modules/better-sqlite3-13; do
  [ -f "$directory/binding.gyp" ] || continue
  # node-gyp prefers npm's own setting of nodedir, if there is one, to its option.
  (cd "$directory" && npm_config_nodedir=$nodedir node "$gyp" rebuild --release --arch="$arch" --loglevel=error)
done
# Without --prebuild; it brings the headers of Node-API along.
(cd node_modules/koffi && node cnoke.cjs -P . -D src/koffi --release ${cross:-})
find node_modules/koffi/build -mindepth 3 -maxdepth 3 -type d -exec rm -rf {} +

"$node" -e '
  const Database = require("better-sqlite3");
  new Database(":memory:").close();
  require("koffi").load(null).func("int getpid()")();
' || fail 'what was compiled does not load'
