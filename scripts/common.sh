# shellcheck shell=bash
# Sourced by the scripts beside it: the repository's root and timed stages.
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly root

# Runs a program (no shell function: `set -e` would not hold inside), announced
# before and timed after.
#   stage "build (release-cpu)" cmake --build ...
stage() {
  local title="$1"
  shift
  local start="$SECONDS"
  echo "== $title"
  "$@" || {
    local status=$?
    echo "== $title: FAILED after $((SECONDS - start)) s" >&2
    return "$status"
  }
  echo "== $title: $((SECONDS - start)) s"
}

# Configures and builds one preset: build_preset PRESET [TARGET...].
build_preset() {
  local preset="$1"
  shift
  local targets=()
  if (($# > 0)); then
    targets=(--target "$@")
  fi
  (
    cd "$root" || exit
    stage "configure ($preset)" cmake --preset "$preset" --log-level=NOTICE
    stage "build ($preset)" cmake --build --preset "$preset" "${targets[@]}"
  )
}
