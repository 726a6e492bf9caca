#!/usr/bin/env bash
# ci.sh PACKAGE [FOLDER]: makes Morgana the OpenCL platform of what follows in a CI job. PACKAGE is the .deb or the tarball, a file or an
# address; FOLDER is where the tarball goes (~/morgana). Says on standard error what it did. The environment that follows is written to
# GITHUB_ENV and GITHUB_PATH where those are, else printed for `eval "$(ci.sh ...)"`.
set -euo pipefail
package=$1 folder=${2:-$HOME/morgana}

note() { echo "morgana: $*" >&2; }

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $package in
  *://*)
    note "fetching $package"
    curl -fsSL --retry 3 -o "$work/${package##*/}" "$package"
    package=$work/${package##*/}
    ;;
esac

settings=()
case $package in
  *.deb)
    "${as_root[@]}" dpkg -i "$package" >/dev/null
    note "installed $(dpkg-query -W morgana | tr '\t' ' '): every OpenCL program finds it"
    tool=morgana
    ;;
  *)
    mkdir -p "$folder"
    tar -xf "$package" -C "$folder" --strip-components=1
    folder=$(realpath "$folder")
    tool=$folder/bin/morgana
    settings=("OCL_ICD_VENDORS=$folder/lib/libmorgana.so" "OCL_ICD_FILENAMES=$folder/lib/libmorgana.so")
    note "unpacked into $folder"
    ;;
esac
[ -z "${MORGANA_DEVICES-}" ] || settings+=("MORGANA_DEVICES=$MORGANA_DEVICES")

for setting in "${settings[@]}"; do
  export "${setting?}"
  note "set $setting"
  if [ -n "${GITHUB_ENV-}" ]; then
    echo "$setting" >>"$GITHUB_ENV"
  else
    printf 'export %q\n' "$setting"
  fi
done
if [ "$tool" != morgana ]; then
  if [ -n "${GITHUB_PATH-}" ]; then
    echo "$folder/bin" >>"$GITHUB_PATH"
  else
    printf 'export PATH=%q:"$PATH"\n' "$folder/bin"
  fi
fi
"$tool" doctor >&2 || note "doctor has something to say above: programs may not find Morgana yet"
