#!/bin/sh
# sh .ci/package.sh BUILT OUT: packs the program that was built in BUILT, with the Node that runs this or NODEDIR/bin/node,
# into OUT:
#   qmemacct-VERSION-linux-ARCH.tar.gz, qmemacct_VERSION_ARCH.deb, qmemacct-VERSION-1.ARCH.rpm,
#   qmemacct-VERSION.cdx.json (CycloneDX: what is in them) and SHA256SUMS.
# What Node is started with becomes one file each (bundle.mjs).
# The same BUILT, Node and SOURCE_DATE_EPOCH give the same bytes. The packages bring files and run nothing: no maintainer
# script, no service, nothing of Grid Engine. `/usr/bin/qmemacct install --node` does the rest.
set -eu
umask 022
: "${SOURCE_DATE_EPOCH:?package.sh: the time of every file, in seconds since 1970}"
export SOURCE_DATE_EPOCH LC_ALL=C
built=$(cd "$1" && pwd)
out=$(mkdir -p "$2" && cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
fail() {
  echo "package.sh: $*" >&2
  exit 1
}
for tool in rpmbuild dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || fail "$tool: not found; install it (Debian: rpm dpkg-dev)"
done

version=$(node -p 'require(process.argv[1]).version' "$built/package.json")
node=$(node -p 'fs.realpathSync(process.execPath)')
[ ! -x "${NODEDIR:+$NODEDIR/bin/node}" ] || node=$NODEDIR/bin/node
arch=$("$node" -p process.arch)
case $arch in
x64) debian=amd64 machine=x86_64 ;;
arm64) debian=arm64 machine=aarch64 ;;
*) fail "$arch: packages have no name for this architecture here" ;;
esac
name=qmemacct-$version
root=$work/root
program=$root/usr/lib/qmemacct
summary='memory and efficiency accounting for Grid Engine clusters'
description='Brings the program with a Node of its own and changes nothing else. On every execution host run
 "/usr/bin/qmemacct install --node" next, also after an upgrade: jobs are measured by the copy
 that it puts under /opt/qmemacct, which stays when this package goes.'

# The program and its Node: what every package holds.
mkdir -p "$root/usr/bin"
node "$(dirname "$0")/bundle.mjs" "$built" "$program" "$node" >"$work/packed"
mkdir -p "$program/bin"
cp "$node" "$program/bin/node"
for license in "$(dirname "$(dirname "$node")")/LICENSE" /usr/share/doc/nodejs/LICENSE; do
  [ ! -f "$license" ] || cp "$license" "$program/LICENSE-node"
done
[ -f "$program/LICENSE-node" ] || fail 'the license of Node, which has to go with it, is not beside it'
cat >"$program/bin/qmemacct" <<'END'
#!/bin/sh
program=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$program/bin/node" "$program/dist/src/cli/main.js" "$@"
END
chmod 755 "$program/bin/qmemacct" "$program/bin/node"
ln -s ../lib/qmemacct/bin/qmemacct "$root/usr/bin/qmemacct"

# What the program says of itself; that it does shows that it starts, with nothing but what is packed.
qmemacct() {
  env -i SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" PATH=/usr/bin:/bin QEMU_LD_PREFIX="${QEMU_LD_PREFIX:-}" \
    "$root/usr/bin/qmemacct" "$@"
}
manual=$root/usr/share/man/man1
completions='usr/share/bash-completion/completions/qmemacct usr/share/zsh/site-functions/_qmemacct
  usr/share/fish/vendor_completions.d/qmemacct.fish'
mkdir -p "$manual" "$root/usr/share/doc/qmemacct"
qmemacct man | gzip -9n >"$manual/qmemacct.1.gz"
for file in $completions; do
  mkdir -p "$root/$(dirname "$file")"
done
qmemacct completion bash >"$root/usr/share/bash-completion/completions/qmemacct"
qmemacct completion zsh >"$root/usr/share/zsh/site-functions/_qmemacct"
qmemacct completion fish >"$root/usr/share/fish/vendor_completions.d/qmemacct.fish"
cp "$built/LICENSE" "$root/usr/share/doc/qmemacct/copyright"
cp -r "$built/docs/examples" "$root/usr/share/doc/qmemacct"
"$program/bin/node" "$program/dist/src/cli/doctor/load-natives.js" >/dev/null || fail 'the native parts do not load'
[ -s "$program/dist/src/server/web/script.js" ] || fail 'the script of the pages is not there; npm run build makes it'
chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

# npm names everything that the lock file does; here it is what was packed, and Node.
(cd "$built" && npm sbom --sbom-format cyclonedx --omit dev --package-lock-only) | node -e '
  const { readFileSync } = require("node:fs");
  const packed = new Set(readFileSync(process.argv[1], "utf8").trim().split("\n"));
  const { serialNumber, ...bom } = JSON.parse(readFileSync(0, "utf8"));
  bom.metadata.timestamp = new Date(process.env.SOURCE_DATE_EPOCH * 1000).toISOString();
  bom.metadata.component.name = "qmemacct";
  const version = process.versions.node;
  bom.components = bom.components.filter(({ name }) => packed.has(name));
  bom.components.push({ "bom-ref": `node@${version}`, type: "platform", name: "node", version, purl: `pkg:generic/node@${version}` });
  const known = new Set([bom.metadata.component, ...bom.components].map((one) => one["bom-ref"]));
  bom.dependencies = bom.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }));
  console.log(JSON.stringify(bom, null, 2));
' "$work/packed" >"$out/$name.cdx.json"

tar -c --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --transform="s,^qmemacct,$name," \
  -C "$root/usr/lib" qmemacct | gzip -n >"$out/$name-linux-$arch.tar.gz"

# Debian. The libraries, and with libc6 the oldest glibc, are those that the ELF files ask for.
mkdir "$work/debian" "$root/DEBIAN"
printf 'Source: qmemacct\n\nPackage: qmemacct\nArchitecture: any\n' >"$work/debian/control"
# For another architecture they are those of the cross compiler's packages, which have names of their own.
depends=$(cd "$work" && export DEB_HOST_ARCH=$debian &&
  find "$program" -name '*.node' -exec dpkg-shlibdeps -O "-l/usr/$machine-linux-gnu/lib" -e"$program/bin/node" {} + 2>warnings |
  sed -n "s/:$debian//g; s/-$debian-cross//g; s/^shlibs:Depends=//p")
[ -n "$depends" ] || fail "no libraries found: $(cat "$work/warnings")"
deb=qmemacct_$(printf %s "$version" | tr - '~')_$debian.deb
cat >"$root/DEBIAN/control" <<END
Package: qmemacct
Version: $(printf %s "$version" | tr - '~')
Architecture: $debian
Maintainer: qmemacct <root@localhost>
Section: admin
Priority: optional
Depends: $depends
Description: $summary
 $description
END
touch -d "@$SOURCE_DATE_EPOCH" "$root/DEBIAN/control" "$root/DEBIAN"
dpkg-deb --root-owner-group -Zgzip --build "$root" "$out/$deb" >/dev/null
rm -r "$root/DEBIAN"

# RPM: what it requires, rpmbuild finds by itself.
cat >"$work/qmemacct.spec" <<END
Name: qmemacct
Version: $(printf %s "$version" | tr - '~')
Release: 1
Summary: $summary
License: MIT
AutoProv: no
%description
$(printf %s "$description" | sed 's/^ //')
%install
cp -a $root/. %{buildroot}
%files
%defattr(-,root,root)
/usr/bin/qmemacct
/usr/lib/qmemacct
%doc /usr/share/man/man1/qmemacct.1.gz
%doc /usr/share/doc/qmemacct
$(printf '/%s\n' $completions)
END
rpmbuild -bb --quiet --target "$machine-linux" --define "_topdir $work/rpm" --define "_rpmdir $work/rpms" \
  --define '_build_id_links none' --define 'debug_package %{nil}' --define '__os_install_post %{nil}' \
  --define '_buildhost localhost' --define '_binary_payload w6.gzdio' \
  --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
  "$work/qmemacct.spec"
rpm=$(cd "$work/rpms" && echo */*.rpm)
cp "$work/rpms/$rpm" "$out"

cd "$out"
sha256sum "$name-linux-$arch.tar.gz" "$deb" "$(basename "$rpm")" "$name.cdx.json" >SHA256SUMS
echo "$out: $name for $arch with Node $("$node" -p process.version), for $depends"
