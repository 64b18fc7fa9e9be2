#!/bin/sh
# Makes sure that the Debian or Ubuntu packages for one use of this repository are there.
#   scripts/system-packages.sh python|sim|test|softroce [PYTHON]
#   scripts/system-packages.sh can-run-softroce [PYTHON]
# python: a virtual environment. sim: also what Verilator needs to build a simulation. test: also what the tests call.
# softroce: test, and what runs the Linux SoftRoCE driver; on Debian a part of test.
# Root gets the missing packages installed; anyone else gets the one line to run, and exit status 1.
# can-run-softroce installs and says nothing: exit status 0 where the SoftRoCE driver can be run, so that tests of it
# may not be skipped (docs/explanation/testing.md).
set -eu

set_name=${1:?usage: system-packages.sh python|sim|test|softroce|can-run-softroce [PYTHON]}
python=${2:-python3}
: "${APT_PATIENCE_S:=600}" # how long another apt or dpkg is waited for

case $set_name in
python | sim | test | softroce | can-run-softroce) ;;
*)
    echo "system-packages.sh: no set '$set_name'; there are python, sim, test, softroce and can-run-softroce" >&2
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
    need iverilog command -v iverilog
    # In a folder that only root's PATH may have.
    need linuxptp env PATH="$PATH:/usr/sbin" sh -c 'command -v ptp4l'
    ;;
esac

# A virtual machine takes its kernel from Debian, and all else from this system: its own Debian, on amd64.
debian_amd64=no
if grep -q '^ID=debian$' /etc/os-release 2>/dev/null && [ "$(uname -m)" = x86_64 ]; then
    debian_amd64=yes
fi
if [ "$set_name" = test ] && [ $debian_amd64 = yes ]; then
    set_name=softroce
fi
if [ "$set_name" = can-run-softroce ]; then
    [ $debian_amd64 = yes ] || exit 1
    missing=
    need python3-pyverbs "$python" -c '
import os, sys, sysconfig
sys.exit(not os.path.exists("/usr/lib/python3/dist-packages/pyverbs/device" + sysconfig.get_config_var("EXT_SUFFIX")))'
fi
if [ "$set_name" = softroce ] || [ "$set_name" = can-run-softroce ]; then
    need qemu-system-x86 command -v qemu-system-x86_64
    need python3-pyverbs test -d /usr/lib/python3/dist-packages/pyverbs
    need ibverbs-providers test -e /etc/libibverbs.d/rxe.driver
fi

[ -n "$missing" ] || exit 0
[ "$set_name" != can-run-softroce ] || exit 1

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
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

deadline=$(($(date +%s) + APT_PATIENCE_S))
patient() { # patient APT-GET ARGUMENT...: again and again while another process holds one of apt's locks
    program=$1
    shift
    said=$(mktemp)
    while :; do
        status=0
        "$program" -o "DPkg::Lock::Timeout=$APT_PATIENCE_S" "$@" 2>"$said" || status=$?
        cat "$said" >&2
        # apt itself waits for dpkg's locks alone, not for that of its lists.
        if [ $status -eq 0 ] || ! grep -q 'Could not get lock\|Unable to lock\|Unable to acquire' "$said"; then
            rm "$said"
            return $status
        fi
        if [ "$(date +%s)" -ge $deadline ]; then
            rm "$said"
            echo "Another apt or dpkg has held its lock for $APT_PATIENCE_S s: let it end, then run make again." >&2
            return $status
        fi
        echo "waiting for another apt or dpkg to end" >&2
        sleep 2
    done
}

patient apt-get --quiet --quiet update
# shellcheck disable=SC2086
patient $install
