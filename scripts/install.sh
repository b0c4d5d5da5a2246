#!/bin/sh
# Installs the executable of a release folder. Tells with one sentence what a machine lacks, instead of a loader's error.
#
#   sh install.sh [--check] [--prefix FOLDER] [--public-key FILE] [RELEASE FOLDER OR EXECUTABLE]
#
# Without words it takes the executable beside itself, checks it, and puts it into /usr/local/bin (root) or ~/.local/bin
# as interlock-worker, with a link interlock. --prefix /opt/x puts it into /opt/x/bin. --check only checks.
set -eu

GLIBC_FLOOR=2.28
# The executable, and as much again for its first update.
ROOM_FACTOR=2

tell() { printf '%s\n' "$*"; }
warn() { printf 'note: %s\n' "$*" >&2; }
refuse() {
  printf 'interlock-worker is not installed: %s\n' "$1" >&2
  if [ $# -gt 1 ]; then printf 'next: %s\n' "$2" >&2; fi
  exit 1
}
wrong_use() {
  printf '%s\n' "$1" >&2
  printf 'use: sh install.sh [--check] [--prefix FOLDER] [--public-key FILE] [RELEASE FOLDER OR EXECUTABLE]\n' >&2
  exit 64
}
# quoted TEXT: as one word for a shell.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
have() { command -v "$1" >/dev/null 2>&1; }

check_only=no
prefix=
public_key=
from=
while [ $# -gt 0 ]; do
  case $1 in
    --check) check_only=yes ;;
    --prefix | --public-key)
      if [ $# -lt 2 ] || [ -z "$2" ]; then wrong_use "$1 needs a value."; fi
      if [ "$1" = --prefix ]; then prefix=$2; else public_key=$2; fi
      shift
      ;;
    --prefix=?*) prefix=${1#--prefix=} ;;
    --public-key=?*) public_key=${1#--public-key=} ;;
    -h | --help)
      sed -n '2,7s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    -*) wrong_use "There is no option $1." ;;
    *)
      if [ -n "$from" ]; then wrong_use "There can be one release folder only."; fi
      from=$1
      ;;
  esac
  shift
done

# ── what this machine is
system=$(uname -s)
machine=$(uname -m)
case $system in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  MINGW* | MSYS* | CYGWIN*)
    refuse 'this is Windows, which needs no script.' \
      'Copy interlock-worker-win-x64.exe into a folder of the PATH as interlock-worker.exe.'
    ;;
  *) refuse "there is no executable for $system." 'Run it from source with Node.js 20 or newer.' ;;
esac
case $machine in
  x86_64 | amd64) cpu=x64 ;;
  aarch64 | arm64) cpu=arm64 ;;
  armv6* | armv7* | armhf | arm)
    refuse "this system is a 32-bit one ($machine), and the executable needs 64 bits." \
      'On a Raspberry Pi 3 or newer install the 64-bit system.'
    ;;
  i?86) refuse "this system is a 32-bit one ($machine), and the executable needs 64 bits." ;;
  *) refuse "there is no executable for the CPU $machine." 'Run it from source with Node.js 20 or newer.' ;;
esac
# A 64-bit kernel may carry a 32-bit system: Raspberry Pi OS does.
if [ "$os" = linux ] && have getconf; then
  bits=$(getconf LONG_BIT 2>/dev/null || printf 64)
  if [ "$bits" = 32 ]; then
    refuse "the kernel has 64 bits ($machine), but the system on it has 32, and the executable needs 64." \
      'Install the 64-bit system (on a Raspberry Pi: Raspberry Pi OS, 64-bit).'
  fi
fi
# A shell under Rosetta says x86_64 on Apple Silicon.
if [ "$os" = darwin ] && [ "$cpu" = x64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || printf 0)" = 1 ]; then
  cpu=arm64
fi
target=$os-$cpu

# ── the C library
is_musl() {
  if have ldd; then
    # musl's ldd prints its name on stderr and ends with 1.
    case $(ldd --version 2>&1 || :) in *musl*) return 0 ;; esac
  fi
  return 1
}
# The version, or nothing.
glibc_version() {
  found=
  if have getconf; then found=$(getconf GNU_LIBC_VERSION 2>/dev/null || :); fi
  case $found in
    'glibc '*) printf '%s' "${found#glibc }" ;;
    *)
      if have ldd; then
        { ldd --version 2>/dev/null || :; } | sed -n '1s/.*[^0-9.]\([0-9][0-9]*\.[0-9][0-9]*\).*$/\1/p'
      fi
      ;;
  esac
}
# older A B: whether A comes before B; both are major.minor.
older() {
  a_major=${1%%.*}
  a_minor=${1#*.}
  a_minor=${a_minor%%.*}
  b_major=${2%%.*}
  b_minor=${2#*.}
  [ "$a_major" -lt "$b_major" ] || { [ "$a_major" -eq "$b_major" ] && [ "$a_minor" -lt "$b_minor" ]; }
}
# How this system installs the two libraries of C++.
library_packages() {
  if have apt-get; then
    printf 'apt-get install libstdc++6 libgcc-s1'
  elif have dnf; then
    printf 'dnf install libstdc++ libgcc'
  elif have yum; then
    printf 'yum install libstdc++ libgcc'
  elif have zypper; then
    printf 'zypper install libstdc++6 libgcc_s1'
  elif have pacman; then
    printf 'pacman -S gcc-libs'
  else
    printf 'install the packages with libstdc++.so.6 and libgcc_s.so.1'
  fi
}
# missing_library FILE: the first that the loader does not find, by ldd; nothing where all are there or ldd cannot tell.
missing_library() {
  if have ldd; then
    { ldd "$1" 2>/dev/null || :; } | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sed -n 1p
  fi
}

if [ "$os" = linux ]; then
  if is_musl; then
    refuse 'this system uses musl instead of glibc (Alpine is one), and there is no executable for it.' \
      'Use a system with glibc (Debian, Ubuntu, Fedora …), or a container image of one.'
  fi
  glibc=$(glibc_version)
  if [ -z "$glibc" ]; then
    warn "the version of glibc cannot be found out; $GLIBC_FLOOR or newer is needed."
  elif older "$glibc" "$GLIBC_FLOOR"; then
    refuse "this system has glibc $glibc, and the executable needs $GLIBC_FLOOR or newer." \
      'Update the system: Debian 10, Ubuntu 18.10, RHEL 8 and all that came later have it.'
  fi
fi

# ── the executable
if [ -z "$from" ]; then from=$(dirname "$0"); fi
if [ -d "$from" ]; then
  folder=$from
  name=interlock-worker-$target
  if [ ! -e "$folder/$name" ]; then
    refuse "there is no $name in $folder." "Copy the one for $target, with SHA256SUMS, into one folder."
  fi
else
  if [ ! -e "$from" ]; then refuse "there is no $from."; fi
  folder=$(dirname "$from")
  name=$(basename "$from")
  case $name in
    interlock-worker-"$target") ;;
    interlock-worker-*) refuse "$name is for another machine; this one is $target." "Take interlock-worker-$target." ;;
    *) refuse "$name is no executable of a release." "Name the folder, or interlock-worker-$target in it." ;;
  esac
fi
file=$folder/$name
if [ ! -f "$file" ] || [ ! -r "$file" ]; then refuse "$file cannot be read by this user."; fi

# ── where it goes
if [ -n "$prefix" ]; then
  case $prefix in
    /*) ;;
    *) prefix=$PWD/$prefix ;;
  esac
  bin=${prefix%/}/bin
elif [ "$(id -u)" = 0 ]; then
  bin=/usr/local/bin
else
  if [ -z "${HOME:-}" ]; then refuse 'this user has no home.' 'Name a folder with --prefix.'; fi
  bin=$HOME/.local/bin
fi
# The nearest folder that is there.
above=$bin
while [ ! -d "$above" ]; do above=$(dirname "$above"); done
if [ ! -w "$above" ]; then
  refuse "this user may not write in $above." 'Run it with sudo, or name a folder of yours with --prefix.'
fi
bytes=$(wc -c <"$file")
needed=$((bytes * ROOM_FACTOR / 1024))
free=$(df -Pk "$above" 2>/dev/null | sed -n '2s/^.*[[:space:]]\([0-9]\{1,\}\)[[:space:]]\{1,\}[0-9]\{1,\}%.*$/\1/p')
if [ -n "$free" ] && [ "$free" -lt "$needed" ]; then
  refuse "$above has $((free / 1024)) MB of room, and $((needed / 1024)) MB are needed (with its first update)." 'Make room.'
fi

staged=
cleanup() { if [ -n "$staged" ]; then rm -rf "$staged"; fi; }
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if [ "$check_only" = yes ]; then
  # Tried where it would run, where that is allowed: a folder may forbid programs.
  staged=$(mktemp -d "$above/.interlock-install.XXXXXX") || refuse "nothing can be written in $above."
else
  mkdir -p "$bin" || refuse "$bin cannot be made."
  staged=$(mktemp -d "$bin/.interlock-install.XXXXXX") || refuse "nothing can be written in $bin."
fi
# ── copies of this user's own: what is checked below is what is tried and installed, whoever may write in the release folder
if [ ! -f "$folder/SHA256SUMS" ]; then
  refuse "there is no SHA256SUMS beside $name, so nobody can tell whether it is whole." 'Copy the whole release folder.'
fi
for one in SHA256SUMS SHA256SUMS.sig; do
  if [ -f "$folder/$one" ]; then cp "$folder/$one" "$staged/$one" || refuse "$folder/$one cannot be copied into $above."; fi
done
cp "$file" "$staged/interlock-worker" || refuse "$file cannot be copied into $above."
file=$staged/interlock-worker

# ── whether it is what was made
sum_of() {
  if have sha256sum; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif have shasum; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  elif have openssl; then
    openssl dgst -sha256 -r <"$1" | cut -d ' ' -f 1
  fi
}
sums=$staged/SHA256SUMS
wanted=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$name\$/\1/p" "$sums" | sed -n 1p)
if [ -z "$wanted" ]; then refuse "SHA256SUMS does not name $name."; fi
found=$(sum_of "$file")
if [ -z "$found" ]; then
  refuse 'there is no sha256sum, shasum or openssl to check the file with.' 'Install coreutils.'
fi
if [ "$found" != "$wanted" ]; then
  refuse "$name is not what SHA256SUMS says: it was cut on the way, or changed." 'Copy it again.'
fi
# can_verify: openssl 1.1.1 was the first that knows Ed25519; LibreSSL does not know -rawin.
can_verify() {
  have openssl && openssl pkeyutl -help 2>&1 | grep -q -- -rawin
}
# signed_by_one_of FILE: it may hold several keys, the next one beside the present; openssl reads the first of a file.
signed_by_one_of() {
  n=0
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *'-----BEGIN PUBLIC KEY-----'*) n=$((n + 1)) ;; esac
    printf '%s\n' "$line" >>"$staged/key$n"
  done <"$1"
  for one in "$staged"/key*; do
    if openssl pkeyutl -verify -pubin -inkey "$one" -rawin -in "$sums" -sigfile "$signature" >/dev/null 2>&1; then
      return 0
    fi
  done
  return 1
}
signature=$staged/SHA256SUMS.sig
if [ -n "$public_key" ]; then
  if [ -d "$public_key" ] || [ ! -r "$public_key" ]; then
    refuse "the public key $public_key cannot be read." 'It does not come with the release: get it from who signs, once, and keep it.'
  fi
  if [ ! -f "$signature" ]; then
    refuse 'the release is not signed: there is no SHA256SUMS.sig.' 'Get the signed one, or leave --public-key away.'
  fi
  if ! can_verify; then
    refuse 'there is no openssl here that can check the signature.' 'Install openssl 1.1.1 or newer, or leave --public-key away.'
  fi
  if ! signed_by_one_of "$public_key"; then
    refuse "the release is not signed by $public_key, or was changed after it was signed." 'Get it again, from who made it.'
  fi
  signed='its signature is good'
elif [ -f "$signature" ]; then
  signed='its signature was not checked (give --public-key)'
else
  signed='it is not signed'
fi

if [ "$os" = linux ]; then
  missing=$(missing_library "$file")
  case $missing in
    '') ;;
    libstdc++.so.6 | libgcc_s.so.1) refuse "this system lacks $missing." "$(library_packages)" ;;
    *) refuse "this system lacks the library $missing." 'Install the package that has it.' ;;
  esac
fi

# try_out FILE: runs it, for its version; the loader's words become a sentence.
try_out() {
  # The shell's own words about a signal are not wanted.
  { version=$("$1" --version 2>"$staged/error") && code=0 || code=$?; } 2>/dev/null
  if [ "$code" = 0 ] && [ -n "$version" ]; then return; fi
  said=$(tail -n 1 "$staged/error")
  case $said in
    *'ermission denied'*)
      refuse "programs may not be run in $above ($said): it is mounted noexec, or SELinux or the like forbids it." \
        'Name another folder with --prefix; SELinux: see docs/install.md (restorecon).'
      ;;
    *libstdc++.so.6*not\ found* | *libgcc_s.so.1* | *libstdc++.so.6:\ cannot*)
      refuse "this system lacks a library, or has an old one: $said" "$(library_packages)"
      ;;
    *GLIBC*not\ found*) refuse "this system has too old a glibc: $said" "glibc $GLIBC_FLOOR or newer is needed." ;;
    *'not found'* | *'o such file'*)
      refuse "the loader that the executable names is not on this system ($said)." 'Is this musl, or a system without glibc?'
      ;;
    *'xec format'* | *'cannot execute'*) refuse "the executable is for another CPU or system ($said)." ;;
    *)
      if [ "$code" = 132 ]; then refuse 'the CPU lacks instructions that the executable uses (SIGILL).'; fi
      refuse "the executable ended with code $code: ${said:-no words}" 'On macOS see docs/install.md (Gatekeeper, quarantine).'
      ;;
  esac
}

chmod 755 "$staged/interlock-worker"
# What came by a browser carries a mark that Gatekeeper asks about; the sum above has been checked.
if [ "$os" = darwin ] && have xattr; then xattr -d com.apple.quarantine "$staged/interlock-worker" 2>/dev/null || :; fi
try_out "$staged/interlock-worker"

if [ "$check_only" = yes ]; then
  tell "interlock-worker $version for $target runs here; $signed. Nothing was installed."
  exit 0
fi

if [ -d "$bin/interlock-worker" ]; then refuse "$bin/interlock-worker is a folder."; fi
if have sync; then sync "$staged/interlock-worker" 2>/dev/null || sync; fi
goal=$bin/interlock-worker
if [ -L "$goal" ]; then warn "$goal was a link and becomes the executable itself."; fi
# What somebody gave to the old file itself, the new one does not get.
if [ -u "$goal" ] || [ -g "$goal" ]; then warn "$goal had a set-id bit, which the new file does not get."; fi
if have getcap; then
  capabilities=$(getcap "$goal" 2>/dev/null || :)
  if [ -n "$capabilities" ]; then warn "the new file does not get the capabilities of the old one (setcap): $capabilities"; fi
fi
mv -f "$staged/interlock-worker" "$goal" || refuse "$goal cannot be replaced."
if have restorecon; then restorecon "$goal" 2>/dev/null || :; fi
# Another program of that name stays, and so does a link to one.
ours=no
if [ -L "$bin/interlock" ]; then
  case $(readlink "$bin/interlock") in interlock-worker | "$goal") ours=yes ;; esac
elif [ ! -e "$bin/interlock" ]; then
  ours=yes
fi
if [ $ours = yes ]; then
  ln -s interlock-worker "$staged/interlock"
  mv -f "$staged/interlock" "$bin/interlock" || warn "the link $bin/interlock cannot be made."
else
  warn "$bin/interlock is another program and stays; interlock-worker does the same."
fi
if have sync; then sync "$bin" 2>/dev/null || :; fi

tell "interlock-worker $version for $target is in $bin; $signed."
if have systemctl && systemctl is-active --quiet interlock-worker.service 2>/dev/null; then
  tell 'The service runs what it was started with: sudo systemctl restart interlock-worker'
fi
case :${PATH:-}: in
  *:"$bin":*) ;;
  *) tell "That folder is not in your PATH: export PATH=$(quoted "$bin"):\"\$PATH\"" ;;
esac
