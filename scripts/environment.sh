# Sourced by the other scripts: makes the virtual environment .venv beside them with xeemu installed in it.
#
#   make_environment         xeemu and what it needs
#   make_environment test    with the extra "test"
#
# Sets $root, the folder of the repository, and $bin, the environment's commands. An environment whose installation is
# newer than the sources is kept as it is, so that only the first run needs a package index.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=$root/.venv/bin

# What is tested and shown is the installed package: no module is found in the current directory or in PYTHONPATH.
export PYTHONSAFEPATH=1 PYTHONNOUSERSITE=1
unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE # asserts that pytest has rewritten are kept for the next run

make_environment() {
  local extra=${1:-} stamp
  stamp=$root/.venv/installed${extra:+-$extra}
  if [ -e "$stamp" ] && [ -z "$(find "$root/pyproject.toml" "$root/README.md" "$root/xeemu" "$root/kernels" \
    -name __pycache__ -prune -o -newer "$stamp" -print -quit)" ]; then
    return
  fi
  if ! "$bin/python" -m pip --version >/dev/null 2>&1; then
    local python
    python=$(find_python)
    echo "Making the environment .venv with $("$python" --version) ..." >&2
    "$python" -m venv --clear "$root/.venv"
  fi
  echo "Installing xeemu${extra:+ with what its tests need} and JAX in .venv (once; some minutes on a slow network) ..." >&2
  rm -rf "$root/build" # else the wheel would keep modules that are gone from the sources
  "$bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$root${extra:+[$extra]}"
  rm -rf "$root/build" "$root/xeemu.egg-info"
  touch "$stamp"
}

# The first Python from 3.11 on that can make environments.
find_python() {
  local python
  for python in python3.11 python3.12 python3.13 python3.14 python3 python; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  echo "error: no Python from 3.11 on with the modules venv and ensurepip was found; install one" \
    "(on Debian and Ubuntu: apt install python3-venv)" >&2
  return 1
}
