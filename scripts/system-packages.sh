#!/bin/sh
# Makes sure that the Debian or Ubuntu packages for one use of this repository are there.
#   scripts/system-packages.sh python|sim|test|softroce [PYTHON]
# python: a virtual environment. sim: also what Verilator needs to build a simulation. test: also what the tests call.
# softroce: test, and what runs the Linux SoftRoCE driver; on Debian a part of test.
# Root gets the missing packages installed; anyone else gets the one line to run, and exit status 1.
set -eu

set_name=${1:?usage: system-packages.sh python|sim|test|softroce [PYTHON]}
python=${2:-python3}

case $set_name in
python | sim | test | softroce) ;;
*)
    echo "system-packages.sh: no set '$set_name'; there are python, sim, test and softroce" >&2
    exit 2
    ;;
esac

if ! command -v "$python" >/dev/null; then
    echo "framelane needs Python 3.11 or later and there is no '$python': run make PYTHON=/path/to/python3" >&2
    exit 1
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "framelane needs Python 3.11 or later, '$python' is $version: run make PYTHON=python3.11 (or later)" >&2
    exit 1
fi

missing=
need() { # need PACKAGE COMMAND...: PACKAGE is missing when COMMAND fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

need "python$version-venv" "$python" -c 'import ensurepip, venv'

if [ "$set_name" != python ]; then
    need g++ command -v g++
    need make command -v make
    need perl perl -MPod::Usage -MGetopt::Long -e 1
    need ccache command -v ccache
    # cocotb runs Python inside the simulator, from the shared library.
    need "libpython$version" "$python" -c '
import ctypes, os, sys, sysconfig
name = "libpython%d.%d.so.1.0" % sys.version_info[:2]
path = os.path.join(sysconfig.get_config_var("LIBDIR"), name)
ctypes.CDLL(path if os.path.exists(path) else name)'
fi

case $set_name in
test | softroce)
    need tshark command -v tshark
    need iproute2 command -v ip
    need iputils-ping command -v ping
    need iputils-arping command -v arping
    ;;
esac

# A virtual machine takes its kernel from Debian, and all else from this system: its own Debian, on amd64.
if [ "$set_name" = test ] && grep -q '^ID=debian$' /etc/os-release 2>/dev/null && [ "$(uname -m)" = x86_64 ]; then
    set_name=softroce
fi
if [ "$set_name" = softroce ]; then
    need qemu-system-x86 command -v qemu-system-x86_64
    need python3-pyverbs test -d /usr/lib/python3/dist-packages/pyverbs
    need ibverbs-providers test -e /etc/libibverbs.d/rxe.driver
fi

[ -n "$missing" ] || exit 0

install="apt-get install --yes --no-install-recommends$missing"
if ! command -v apt-get >/dev/null; then
    echo "Missing, by their Debian names:$missing. Install them with this system's package manager, then run make again." >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "Missing system packages. Run this line, then make again:" >&2
    echo "    sudo apt-get update && sudo $install" >&2
    exit 1
fi
echo "Installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get --quiet --quiet update
# shellcheck disable=SC2086
$install
