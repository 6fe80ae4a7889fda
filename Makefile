# ragno: one Makefile, not recursive. `make help` lists what it can do.
#
# Modes never mix: objects live under build/$(MODE)/. `make` builds release and links it to build/ragno.
# A changed flag, compiler or list of sources rebuilds what it concerns.

MODE ?= release
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := 0.2.0
OUT := build/$(MODE)

# ---- Compiler and flags ----
# CC, AR, PKG_CONFIG, CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS may come from the environment or the command
# line. The flags are appended to those below, so that they win.

ifeq ($(origin CC),default)
  CC := gcc
endif
PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy
# V=1: commands are shown as they are run.
Q := $(if $(V),,@)
# Only its header: the library is loaded when a crawl has a cluster (cluster/transport).
PKGS_LATER := libnats
PKGS := libcurl libxml-2.0 libcares lmdb libpcre2-8 libpsl icu-uc libxxhash libdeflate zlib \
        libzstd libbrotlidec libssl libcrypto ncursesw libmicrohttpd
# What works before the libraries are there, or without them.
NO_PKGS := deps deps-dev deps-fuzz deps-bench deps-render deps-deb arm64 help clean format lint check
ifneq ($(if $(MAKECMDGOALS),$(filter-out $(NO_PKGS),$(MAKECMDGOALS)),all),)
  ifeq ($(filter deps deps-dev deps-fuzz deps-bench deps-render deps-deb,$(MAKECMDGOALS)),)
    ifneq ($(shell $(PKG_CONFIG) --exists $(PKGS) $(PKGS_LATER) 2>/dev/null && echo yes),yes)
      $(error libraries are missing: run `make deps` first (it installs Debian packages))
    endif
  endif
endif

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla \
        -Wnull-dereference -Wimplicit-fallthrough -Wswitch-enum -Wdouble-promotion
ifdef CI
  WARN += -Werror
endif

# Hardening, for what people run. Distributions have flags of their own; the level of _FORTIFY_SOURCE
# is left to them where they give one.
MACHINE = $(eval MACHINE := $(shell $(CC) -dumpmachine))$(MACHINE)
HARDEN = -fstack-protector-strong -fstack-clash-protection \
         $(if $(filter x86_64-% i%86-%,$(MACHINE)),-fcf-protection) \
         $(if $(filter aarch64-%,$(MACHINE)),-mbranch-protection=standard) \
         $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
HARDEN_LINK := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack

CHECKED := -DRAGNO_CHECK_LOCKS
OPT_release = -O2 -g $(HARDEN)
OPT_lint = $(OPT_release) -Werror -ffunction-sections
OPT_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer $(CHECKED)
OPT_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer $(CHECKED)
OPT_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -Werror $(CHECKED)
OPT_cov := -O0 -g --coverage $(CHECKED)
ifeq ($(filter $(MODE),release lint asan tsan fuzz cov),)
  $(error MODE=$(MODE): expected release, asan, tsan, cov, fuzz or lint)
endif

# Asked at the first use, so that `make deps demo` finds what deps has just installed.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(ALL_PKGS)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(ALL_PKGS)))$(PKG_LIBS)
# ISA-L deflates WARC records in less time (src/store/warc/warc_compress.h). ISAL=no: without it.
ifeq ($(origin ISAL),undefined)
  ISAL = $(eval ISAL := $(shell $(PKG_CONFIG) --exists libisal 2>/dev/null && echo yes || echo no))$(ISAL)
endif
ALL_PKGS = $(PKGS) $(if $(filter yes,$(ISAL)),libisal)

# No path of this machine gets into the program: builds in two places are the same, byte for byte.
SAME := '-ffile-prefix-map=$(CURDIR)=.'
USE_CPP = -D_GNU_SOURCE -Isrc -DRAGNO_VERSION='"$(VERSION)"' \
          $(if $(filter yes,$(ISAL)),-DRAGNO_HAS_ISAL) $(CPPFLAGS)
USE_C = -std=gnu11 $(OPT_$(MODE)) $(SAME) $(WARN) -fPIC -pthread $(PKG_CFLAGS) $(CFLAGS)
USE_LD = $(OPT_$(MODE)) $(if $(filter release lint,$(MODE)),$(HARDEN_LINK)) -pthread $(LDFLAGS)
USE_LIBS = $(PKG_LIBS) -lm $(LDLIBS)

COMPILE = $(CC) $(USE_CPP) $(USE_C)
LINK = $(CC) $(USE_LD) -pie
define link
@mkdir -p $(@D)
@echo '  LD  $@' >&2
$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) $(ALSO) $(USE_LIBS)
endef
define archive
@mkdir -p $(@D)
@rm -f $@
@$(AR) rcsD $@ $(filter %.o,$^)
endef

# ---- Sources ----
# The rooms: every folder below src. src/ROOMS gives their order (tests/lint/rooms holds it).
objects = $(patsubst %.c,$(OUT)/%.o,$(1))
LIB_SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(OUT)/tests/%)
BENCH_SRC := $(sort $(wildcard tests/bench/bench_*.c))
BENCH_BIN := $(BENCH_SRC:tests/bench/%.c=$(OUT)/bench/%)
BENCH_SCRIPTS := $(sort $(wildcard tests/bench/bench_*.py))
BENCH_SHARED := $(filter-out $(BENCH_SRC),$(sort $(wildcard tests/bench/*.c)))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=build/fuzz/bin/%)
WEB_SRC := $(sort $(wildcard tests/web/*.c))
SIM_SRC := $(sort $(wildcard tests/sim/*.c))
CRASH_BIN := $(addprefix $(OUT)/crash/,io_shim.so alloc_shim.so outage_shim.so rows_shim.so power_cut crash_drum)

.DEFAULT_GOAL := all
.SECONDARY:
.PHONY: all everything help clean
## make                 builds build/ragno (MODE=asan, tsan, cov: other builds, each in its own folder)
all: $(OUT)/ragno
	@if [ $(MODE) = release ]; then ln -sfn $(MODE)/ragno build/ragno; fi

everything: all $(OUT)/web $(OUT)/sim $(OUT)/counts $(UNIT_BIN) $(BENCH_BIN) $(CRASH_BIN)

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make clean           removes build/
clean:
	@rm -rf build

# ---- Building ----
# A list is written anew only when it has changed; what depends on it is built anew then.
$(OUT)/flags.list: export LIST = $(shell $(CC) --version | head -n 1) $(COMPILE) $(LINK) $(USE_LIBS)
$(OUT)/libragno.list: export LIST = $(LIB_SRC)
$(OUT)/web.list: export LIST = $(WEB_SRC)
$(OUT)/sim.list: export LIST = $(SIM_SRC)
$(OUT)/%.list: FORCE | $(filter deps deps-dev deps-fuzz deps-bench deps-render deps-deb,$(MAKECMDGOALS))
	@mkdir -p $(@D)
	@printf '%s\n' "$$LIST" | cmp -s - $@ || printf '%s\n' "$$LIST" >$@
.PHONY: FORCE
FORCE:

$(OUT)/%.o: %.c $(OUT)/flags.list
	@mkdir -p $(@D)
	@echo '  CC  $<' >&2
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

# The status page, the style of a report, and the usage of a command, NAME.txt beside NAME.c, are put into these objects by
# the assembler.
$(OUT)/src/crawl/web/web.o: $(wildcard src/crawl/web/files/*)
$(OUT)/src/report/write/report_html.o: src/report/write/report.css
$(foreach text,$(wildcard src/command/*.txt src/command/*/*.txt),$(eval $(OUT)/$(text:.txt=.o): $(text)))

$(OUT)/libragno.a: $(call objects,$(LIB_SRC)) $(OUT)/libragno.list
	$(archive)

$(OUT)/ragno: $(OUT)/src/main.o $(OUT)/libragno.a
	$(link)

# A unit test is one file, one program: tests/unit/test_NAME.c -> $(OUT)/tests/test_NAME.
$(OUT)/tests/test_%: private ALSO = -lcunit
$(OUT)/tests/test_%: $(OUT)/tests/unit/test_%.o $(OUT)/libragno.a
	$(link)

# A benchmark is one file, one program: tests/bench/bench_NAME.c, with the workload they share.
$(OUT)/bench/bench_%: $(OUT)/tests/bench/bench_%.o $(call objects,$(BENCH_SHARED)) $(OUT)/libragno.a
	$(link)

# The synthetic web needs the lowest layer only: it builds while others do not.
$(OUT)/web: $(call objects,$(WEB_SRC) $(filter src/base/%,$(LIB_SRC))) $(OUT)/web.list
	$(link)

# The frontier in virtual time: clocks are tests/sim/virtual_clock.h's.
$(OUT)/sim: private ALSO = -Wl,--wrap=ragno_mono_now,--wrap=ragno_wall_now
$(OUT)/sim: $(call objects,$(SIM_SRC)) $(OUT)/libragno.a $(OUT)/sim.list
	$(link)

# Mutants (tests/sim/mutants): one source is another, and so takes the place of the library's.
$(OUT)/mutants/%.o: $(OUT)/mutants/%.c
	$(Q)$(COMPILE) -c -o $@ $<
$(OUT)/mutants/%/sim: private ALSO = -Wl,--wrap=ragno_mono_now,--wrap=ragno_wall_now
$(OUT)/mutants/%/sim: $(OUT)/mutants/%/mutant.o $(call objects,$(SIM_SRC)) $(OUT)/libragno.a
	$(link)
$(OUT)/mutants/%/unit: private ALSO = -lcunit
$(OUT)/mutants/%/unit: $(OUT)/mutants/%/mutant.o $(OUT)/tests/unit/$(UNIT).o $(OUT)/libragno.a
	$(link)

# A program whose agents speak another version of messages (cluster/message/node_link.h), for upgrades.
WIRE_SRC = cluster/message/node_link cluster/node/node_join crawl/cluster/cluster_part
$(OUT)/wire-%/ragno: $(OUT)/src/main.o $(OUT)/libragno.a
	@mkdir -p $(@D)
	$(Q)for s in $(WIRE_SRC); do $(COMPILE) -DNODE_WIRE=$*u -c -o $(@D)/$$(basename $$s).o src/$$s.c || exit 1; done
	$(Q)$(LINK) -o $@ $(@D)/*.o $^ $(USE_LIBS)

# The parts of a crawl, for counting their instructions.
$(OUT)/counts: $(OUT)/tests/counts/main.o $(OUT)/tests/bench/documentation_page.o \
        $(OUT)/tests/bench/workload.o $(OUT)/libragno.a
	$(link)

# What disturbs other programs must not be instrumented itself. (ISO C has no dlsym for functions.)
PLAIN = $(CC) -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARN)
$(OUT)/crash/%.so: tests/crash/%.c
	@mkdir -p $(@D)
	@$(PLAIN) -Wno-pedantic -shared -fPIC -fno-builtin -pthread -o $@ $<
$(OUT)/crash/power_cut: tests/crash/power_cut.c tests/crash/power_cut.h
	@mkdir -p $(@D)
	@$(PLAIN) -o $@ $<
$(OUT)/crash/crash_drum: $(OUT)/tests/crash/crash_drum.o $(OUT)/libragno.a
	$(link)

# ---- Debian packages ----
# To build, crawl and test; for the fuzzers, clang and what they are linked with; and what `make lint`
# and the longer tests use besides.
DEPS := gcc make pkg-config ca-certificates tzdata libcurl4-openssl-dev libxml2-dev libc-ares-dev liblmdb-dev \
        libpcre2-dev libpsl-dev libicu-dev libxxhash-dev libdeflate-dev zlib1g-dev \
        libisal-dev libzstd-dev libbrotli-dev libssl-dev libncurses-dev libmicrohttpd-dev libnats-dev libcunit1-dev \
        python3 lmdb-utils zstd nats-server
DEPS_FUZZ := clang libclang-rt-14-dev
DEPS_DEV := $(DEPS_FUZZ) clang-format clang-tidy cppcheck shellcheck nginx-light apache2-doc \
        chromium debian-handbook postgresql-doc-15 python3-doc python3-lxml libcld2-0 poppler-utils wrk tmux zsh logrotate \
        tinyproxy-bin dante-server python3-cryptography valgrind
# To build Debian packages and to look at them.
DEPS_DEB := build-essential debhelper dpkg-dev debootstrap lintian
# The browser of [render], and what shows that it has no network.
DEPS_RENDER := chromium-headless-shell strace
# What the benchmarks of real pages serve, and whom they compare with. Half a gigabyte.
DEPS_BENCH := nginx-light wget2 apache2-doc debian-handbook erlang-doc libboost-doc openjdk-17-doc \
        postgresql-doc-15 python3-doc rust-doc python3-brotli python3-zstandard python3-cryptography

# Applications that need a browser, for BENCH=render: npm packages, into build/npm.
NPM_BENCH := docsify@4 swagger-ui-dist redoc vue@3 vue-router@4 react@18 react-dom@18 preact htm lit jsdoc \
        svelte@5 esbuild @angular/core@21 @angular/common@21 @angular/compiler@21 @angular/platform-browser@21 rxjs \
        tslib @docusaurus/core@3 @docusaurus/preset-classic@3 @mdx-js/react

.PHONY: deps deps-dev deps-fuzz deps-bench deps-render deps-deb
## make deps            installs the Debian packages that are missing (asks for root only then)
deps:
	@tools/deps $(DEPS)

## make deps-dev        and those for `make lint` and the longer tests
deps-dev:
	@tools/deps $(DEPS) $(DEPS_DEV)

## make deps-fuzz       and those for `make fuzz`
deps-fuzz:
	@tools/deps $(DEPS) $(DEPS_FUZZ)

## make deps-bench      and those for `make bench`: documentation as real pages, wget2
deps-bench:
	@tools/deps $(DEPS) $(DEPS_BENCH)
	@command -v npm >/dev/null || { echo "BENCH=render needs npm, which is missing"; exit 0; }; \
	    npm install --ignore-scripts --no-audit --no-fund --prefix build/npm $(NPM_BENCH)

## make deps-render     and a browser, for [render]
deps-render:
	@tools/deps $(DEPS) $(DEPS_RENDER)

## make deps-deb        and those for `make deb` and `make deb-test`
deps-deb:
	@tools/deps $(DEPS) $(DEPS_DEB)

# ---- Tests ----
# For tests that link objects of the tree with their own.
print-libraries:
	@echo $(USE_LIBS)

.PHONY: print-libraries counts unit integration sim test lint format check demo demo-cluster bench
## make test            unit tests, simulated crawls and integration tests, some at a time (JOBS=n)
test: all $(OUT)/web $(OUT)/sim $(UNIT_BIN) $(CRASH_BIN)
	@OUT=$(OUT) tests/run --unit $(UNIT_BIN) --sim --integration

## make unit            the unit tests (T=name for one, or names)
unit: $(if $(T),$(if $(findstring :,$(T)),,$(T:%=$(OUT)/tests/test_%)),$(UNIT_BIN))
	@OUT=$(OUT) tests/run --unit $^

## make integration     the real program against the synthetic web (T=name, T=name:test; FULL=1: long)
integration: all $(OUT)/web $(OUT)/sim $(CRASH_BIN) $(OUT)/sim
	@OUT=$(OUT) tests/run --integration $(T)

## make requests        a table: what the servers of the last integration tests saw, beside crawl.log
requests:
	@OUT=$(OUT) tests/run --requests

## make sim             crawls of simulated webs in virtual time
sim: $(OUT)/sim
	@OUT=$(OUT) tests/run --sim

## make lint            compilers' warnings, rooms, words, clang-format, cppcheck, clang-tidy
lint:
	@tests/lint/run

## make format          brings the sources into the house's form (clang-format)
format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

## make check           lint, test, counts, and the tests again under the sanitizers
check: lint
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory counts
	@$(MAKE) --no-print-directory MODE=asan test
	@$(MAKE) --no-print-directory MODE=tsan test

## make counts          instructions of the parts beside recorded ones (RECORD=1: records them anew)
counts: $(OUT)/counts
	@COUNTS=$(OUT)/counts tests/counts/run $(if $(RECORD),--record)

## make spec            the models of doc/spec, searched whole by spin (skipped without it)
.PHONY: spec mutants
spec:
	@doc/spec/run

## make mutants         the same, and what each model, and the simulated cluster, needs is taken away and must be missed
mutants:
	@MUTANTS=yes doc/spec/run
	@MUTANTS=yes $(MAKE) --no-print-directory integration T=cluster_sim:mutants

## make arm64           builds for arm64 on another machine, and runs the unit tests under qemu-user (T=name: some)
.PHONY: arm64 arm64-tests
arm64:
	@T='$(T)' tests/arm64 $(filter lib% zlib%,$(DEPS))
arm64-tests: $(if $(T),$(if $(findstring :,$(T)),,$(T:%=$(OUT)/tests/test_%)),$(UNIT_BIN))

## make demo            crawls a few thousand pages of the synthetic web, on this machine alone
demo: all $(OUT)/web
	@OUT=$(OUT) tests/demo

## make demo-cluster    the same by three agents, with nats-server between them; ends by itself
demo-cluster: all $(OUT)/web
	@OUT=$(OUT) tests/demo-cluster

## make bench           all benchmarks (BENCH=name[,name] for some, SCALE=0.01 for small, COMPARE=ragno)
bench:
	@$(MAKE) --no-print-directory all $(OUT)/web $(OUT)/sim $(OUT)/crash/rows_shim.so $(BENCH_BIN) >&2
	@OUT=$(OUT) tests/run-bench "$(BENCH)" $(BENCH_BIN) $(BENCH_SCRIPTS)

# A fuzz target is one file, one program: tests/fuzz/fuzz_NAME.c, by clang.
SECONDS ?= 60
FUZZ = $(MAKE) --no-print-directory MODE=fuzz CC=clang
.PHONY: fuzz fuzz-all fuzz-build
## make fuzz T=name     clang's libFuzzer on tests/fuzz/fuzz_name.c for SECONDS=60
fuzz:
	@$(FUZZ) build/fuzz/bin/fuzz_$(T)
	@tests/run-fuzz --unpack $(T)
	@mkdir -p build/fuzz/found
	@build/fuzz/bin/fuzz_$(T) -max_total_time=$(SECONDS) -artifact_prefix=build/fuzz/found/$(T)- \
	    build/fuzz/corpus/$(T)

## make fuzz-all        every fuzz target for SECONDS=60, a few at a time
fuzz-all: fuzz-build
	@tests/run-fuzz $(SECONDS) $(FUZZ_BIN)

fuzz-build:
	@$(FUZZ) $(FUZZ_BIN)

build/fuzz/bin/fuzz_%: private ALSO = -fsanitize=fuzzer
build/fuzz/bin/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o build/fuzz/libragno.a
	$(link)

# ---- The library ----
# libragno: the store without the crawler (src/ragno.h), as a list of rooms.
LIBRAGNO_ROOMS := base/core base/memory base/thread store/lmdb store/records store/format \
        store/page_tables store/page_batch store/pages store/drum \
        store/schedule store/check store/rank store/scorers store/best_first store/frequency
LIBRAGNO_SRC := $(foreach room,$(LIBRAGNO_ROOMS),$(filter src/$(room)/%,$(LIB_SRC)))
LIBRAGNO_PKGS := lmdb libxxhash libpcre2-8
LIBRAGNO_HEADERS = $(sort $(filter %.h,$(shell $(CC) $(USE_CPP) -MM src/ragno.h)))
SO := libragno.so.0

$(OUT)/install.list: export LIST = $(LIBRAGNO_SRC)
# One object for both forms: in it everything is local that src/libragno.map does not show. So a program
# may have a map_get or a hash_64 of its own, whichever way it is linked.
LIBRAGNO_SHOWN = $(patsubst %;,--keep-global-symbol='%',\
    $(shell sed -n '/global:/,/local:/p' src/libragno.map | grep -o '[a-z0-9_]*[*]*;'))
$(OUT)/install/libragno.o: $(call objects,$(LIBRAGNO_SRC)) src/libragno.map $(OUT)/install.list
	@mkdir -p $(@D)
	@echo '  LD  $@' >&2
	$(Q)$(CC) $(OPT_$(MODE)) $(CFLAGS) -r -nostdlib -o $@.all $(filter %.o,$^)
	$(Q)$(OBJCOPY) --wildcard $(LIBRAGNO_SHOWN) $@.all $@
	@rm -f $@.all

$(OUT)/install/libragno.a: $(OUT)/install/libragno.o
	$(archive)

# -Bsymbolic-functions: what the library calls is its own, also when the program has a function of that name.
$(OUT)/install/libragno.so.$(VERSION): $(OUT)/install/libragno.o src/libragno.map
	@echo '  LD  $@' >&2
	$(Q)$(CC) $(USE_LD) -shared -Wl,-soname,$(SO) -Wl,--version-script=src/libragno.map -Wl,-z,defs \
	    -Wl,-Bsymbolic-functions -Wl,--as-needed -o $@ $< $(shell $(PKG_CONFIG) --libs $(LIBRAGNO_PKGS)) -lm

# What the program and the library reach, and nothing else: for tests/lint/unused, with MODE=lint.
$(OUT)/reached/ragno: $(OUT)/src/main.o $(OUT)/libragno.a
	@mkdir -p $(@D)
	@$(LINK) -Wl,--gc-sections -o $@ $^ $(USE_LIBS)
$(OUT)/reached/libragno.so: $(call objects,$(LIBRAGNO_SRC)) src/libragno.map
	@mkdir -p $(@D)
	@$(CC) $(USE_LD) -shared -Wl,--gc-sections -Wl,--version-script=src/libragno.map \
	    $(filter %.o,$^) -o $@ $(shell $(PKG_CONFIG) --libs $(LIBRAGNO_PKGS)) -lm

# ---- Documents, editors, installing ----
.PHONY: doc install
## make doc             manual pages and config/ragno.ini from the option table, doc/files.md from the headers
doc: all
	@$(OUT)/ragno --print-config=sample >config/ragno.ini
	@tools/list-files >doc/files.md
	@for page in ragno.1 ragno.ini.5; do \
	    tools/make-manual $(OUT)/ragno "doc/$$page.in" "$(VERSION)" >"doc/$$page" || exit; done

## make compile_commands.json  how each file is compiled, for editors (clangd)
compile_commands.json: Makefile $(OUT)/flags.list
	@printf '%s\n' $(LIB_SRC) src/main.c $(UNIT_SRC) $(BENCH_SRC) $(BENCH_SHARED) $(WEB_SRC) $(SIM_SRC) | \
	    tools/compile-commands $(COMPILE) >$@

## make install         program, library, configuration, manual (PREFIX=/usr/local, DESTDIR=)
install: all $(OUT)/install/libragno.a $(OUT)/install/libragno.so.$(VERSION)
	@PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)' VERSION='$(VERSION)' SO='$(SO)' \
	    OUT='$(OUT)' PKGS='$(LIBRAGNO_PKGS)' UNITDIR='$(UNITDIR)' ZSHDIR='$(ZSHDIR)' \
	    tools/install $(LIBRAGNO_HEADERS)

## make release         tags what is committed as vVERSION, when NEWS and the packages name it, too
.PHONY: release
release:
	@tools/release '$(VERSION)'

# ---- Debian packages of ragno itself ----
.PHONY: deb deb-test
## make deb             Debian packages in build/deb: ragno, libragno0, libragno-dev (CHECK=1: with unit tests)
deb:
	@tools/make-deb "$(VERSION)"

## make deb-test        builds them twice, asks lintian, and installs, runs and removes them in a bare Debian
deb-test:
	@tests/deb

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
