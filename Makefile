# ragno: one non-recursive Makefile. `make help` lists what it can do.
#
# Modes never mix: objects live under build/$(MODE)/. `make` builds release and links it to build/ragno.

MODE ?= release
CC ?= gcc
PKGS := libcurl libxml-2.0 libcares lmdb libpcre2-8 inih libpsl libidn2 libxxhash libdeflate zlib \
        libzstd libbrotlidec libcrypto
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
VERSION := 0.1.0
OUT := build/$(MODE)

ifeq ($(filter deps deps-dev deps-fuzz help clean distclean,$(MAKECMDGOALS)),)
  ifneq ($(shell pkg-config --exists $(PKGS) 2>/dev/null && echo yes),yes)
    $(error libraries are missing: run `make deps` first (it installs Debian packages))
  endif
endif

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla \
        -Wnull-dereference -Wimplicit-fallthrough -Wswitch-enum -Wdouble-promotion
ifdef CI
  WARN += -Werror
endif
OPT_release := -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
OPT_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DRAGNO_CHECK_LOCKS
OPT_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer -DRAGNO_CHECK_LOCKS
OPT_lint := $(OPT_release) -Werror
OPT_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -DRAGNO_CHECK_LOCKS -Werror
OPT_cov := -O0 -g --coverage -DRAGNO_CHECK_LOCKS
OPT := $(OPT_$(MODE))
ifeq ($(OPT),)
  $(error MODE=$(MODE): expected release, asan, tsan, cov, fuzz or lint)
endif

CPPFLAGS := -D_GNU_SOURCE -Isrc -DRAGNO_VERSION='"$(VERSION)"'
# Asked at the first use, so that `make deps demo` finds what deps has just installed.
PKG_CFLAGS = $(eval PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $(shell pkg-config --libs $(PKGS)))$(PKG_LIBS)
CFLAGS = -std=gnu11 $(OPT) $(WARN) -fPIC -pthread $(PKG_CFLAGS)
LDFLAGS := $(OPT) -pthread
LDLIBS = $(PKG_LIBS) -lm

# The rooms: every folder below src. src/ROOMS gives their order (tests/lint/rooms holds it).
LIB_SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(OUT)/%.o)
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(OUT)/tests/%)
BENCH_SRC := $(sort $(wildcard tests/bench/bench_*.c))
BENCH_BIN := $(BENCH_SRC:tests/bench/%.c=$(OUT)/bench/%)
BENCH_SHARED := $(patsubst %.c,$(OUT)/%.o,$(filter-out $(BENCH_SRC),$(sort $(wildcard tests/bench/*.c))))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
WEB_SRC := $(sort $(wildcard tests/web/*.c))
SIM_SRC := $(sort $(wildcard tests/sim/*.c))

.DEFAULT_GOAL := all
.PHONY: all help clean
## make                 builds build/ragno (MODE=asan, tsan, cov: other builds, each in its own folder)
all: $(OUT)/ragno
	@ln -sfn $(MODE)/ragno build/ragno

## make clean           removes build/
clean:
	@rm -rf build

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

$(OUT)/%.o: %.c | $(filter deps deps-dev deps-fuzz,$(MAKECMDGOALS))
	@mkdir -p $(@D)
	@echo '  CC  $<' >&2
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/libragno.a: $(LIB_OBJ)
	@rm -f $@
	@ar rcs $@ $^

$(OUT)/ragno: $(OUT)/src/main.o $(OUT)/libragno.a
	@echo '  LD  $@' >&2
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# A unit test is one file, one program: tests/unit/test_NAME.c -> $(OUT)/tests/test_NAME.
$(OUT)/tests/test_%: $(OUT)/tests/unit/test_%.o $(OUT)/libragno.a
	@mkdir -p $(@D)
	@echo '  LD  $@' >&2
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcunit

# A benchmark is one file, one program: tests/bench/bench_NAME.c, with the workload they share.
$(OUT)/bench/bench_%: $(OUT)/tests/bench/bench_%.o $(BENCH_SHARED) $(OUT)/libragno.a
	@mkdir -p $(@D)
	@echo '  LD  $@' >&2
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The synthetic web needs the lowest layer only: it builds while others do not.
$(OUT)/web: $(WEB_SRC:%.c=$(OUT)/%.o) $(filter $(OUT)/src/base/%,$(LIB_OBJ))
	@echo '  LD  $@' >&2
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The frontier in virtual time.
$(OUT)/sim: $(SIM_SRC:%.c=$(OUT)/%.o) $(OUT)/libragno.a
	@echo '  LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: unit
## make unit            builds and runs the unit tests (T=name for one)
unit: $(if $(T),$(OUT)/tests/test_$(T),$(UNIT_BIN))
	@OUT=$(OUT) tests/run --unit $^

# Debian packages: to build, crawl and test; and what `make lint` and the longer tests use besides.
DEPS := gcc make pkg-config libcurl4-openssl-dev libxml2-dev libc-ares-dev liblmdb-dev \
        libpcre2-dev libinih-dev libpsl-dev libidn2-dev libxxhash-dev libdeflate-dev zlib1g-dev \
        libzstd-dev libbrotli-dev libssl-dev libcunit1-dev python3 lmdb-utils
# clang, and what its fuzzers are linked with.
DEPS_FUZZ := clang libclang-rt-14-dev
DEPS_DEV := $(DEPS_FUZZ) clang-format clang-tidy cppcheck nginx-light apache2-doc debian-handbook \
        postgresql-doc-15 wrk

.PHONY: deps deps-dev deps-fuzz integration test lint check demo bench everything
## make deps            installs the Debian packages that are missing (asks for root only then)
deps:
	@tools/deps $(DEPS)

## make deps-dev        and those for `make lint` and the longer tests
deps-dev:
	@tools/deps $(DEPS) $(DEPS_DEV)

## make deps-fuzz       and those for `make fuzz`
deps-fuzz:
	@tools/deps $(DEPS) $(DEPS_FUZZ)

everything: all $(OUT)/web $(OUT)/sim $(UNIT_BIN) $(BENCH_BIN)

## make integration     the real program against the synthetic web (T=name for one, FULL=1 for long)
integration: all $(OUT)/web
	@OUT=$(OUT) tests/run --integration $(foreach t,$(T),$(call script,$(t)))

.PHONY: sim
## make sim             crawls of simulated webs in virtual time
sim: $(OUT)/sim
	@OUT=$(OUT) tests/run --sim

## make test            unit tests, simulated crawls and integration tests
test: all $(OUT)/web $(OUT)/sim $(UNIT_BIN)
	@OUT=$(OUT) tests/run --unit $(UNIT_BIN) --sim --integration

## make lint            compilers' warnings, rooms, words, clang-format, cppcheck, clang-tidy
lint:
	@tests/lint/run

## make check           lint, test, and the tests again under the sanitizers
check: lint test
	@$(MAKE) --no-print-directory MODE=asan test
	@$(MAKE) --no-print-directory MODE=tsan test

## make demo            crawls a few thousand pages of the synthetic web, on this machine alone
demo: all $(OUT)/web
	@OUT=$(OUT) tests/demo

## make bench           all benchmarks (BENCH=name[,name] for some, SCALE=0.01 for small)
bench:
	@$(MAKE) --no-print-directory all $(OUT)/web $(OUT)/sim $(BENCH_BIN) >&2
	@OUT=$(OUT) tests/run-bench "$(BENCH)" $(BENCH_BIN)

# libragno: the store without the crawler (src/ragno.h), as a list of rooms.
LIBRAGNO_ROOMS := base/core base/memory base/thread store/lmdb store/records store/format \
        store/page_tables store/page_batch store/pages store/drum store/repository \
        store/schedule store/check store/rank store/scorers store/best_first store/frequency
LIBRAGNO_SRC := $(foreach room,$(LIBRAGNO_ROOMS),$(filter src/$(room)/%,$(LIB_SRC)))
LIBRAGNO_PKGS := lmdb libxxhash libpcre2-8
LIBRAGNO_HEADERS = $(sort $(filter %.h,$(shell $(CC) $(CPPFLAGS) -MM src/ragno.h)))
SO := libragno.so.0

$(OUT)/install/libragno.a: $(LIBRAGNO_SRC:%.c=$(OUT)/%.o)
	@mkdir -p $(@D)
	@rm -f $@
	@ar rcs $@ $^

$(OUT)/install/libragno.so.$(VERSION): $(LIBRAGNO_SRC:%.c=$(OUT)/%.o) src/libragno.map
	@mkdir -p $(@D)
	@echo '  LD  $@' >&2
	@$(CC) $(LDFLAGS) -shared -Wl,-soname,$(SO) -Wl,--version-script=src/libragno.map -Wl,-z,defs \
	    -Wl,--as-needed -o $@ $(filter %.o,$^) $(shell pkg-config --libs $(LIBRAGNO_PKGS)) -lm

# A fuzz target is one file, one program: tests/fuzz/fuzz_NAME.c, by clang.
build/fuzz/bin/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o build/fuzz/libragno.a
	@mkdir -p $(@D)
	@echo '  LD  $@' >&2
	@clang $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

SECONDS ?= 60
.PHONY: fuzz
## make fuzz T=name     clang's libFuzzer on tests/fuzz/fuzz_name.c for SECONDS=60
fuzz:
	@$(MAKE) --no-print-directory MODE=fuzz CC=clang build/fuzz/bin/fuzz_$(T)
	@tests/run-fuzz --unpack $(T)
	@mkdir -p build/fuzz/found
	@build/fuzz/bin/fuzz_$(T) -max_total_time=$(SECONDS) -artifact_prefix=build/fuzz/found/$(T)- \
	    build/fuzz/corpus/$(T)

.PHONY: fuzz-all fuzz-programs
fuzz-programs: $(FUZZ_SRC:tests/fuzz/%.c=build/fuzz/bin/%)

## make fuzz-all        every fuzz target for SECONDS=60, a few at a time
fuzz-all:
	@$(MAKE) --no-print-directory MODE=fuzz CC=clang fuzz-programs
	@tests/run-fuzz $(SECONDS) $(FUZZ_SRC:tests/fuzz/%.c=build/fuzz/bin/%)

.PHONY: doc install
## make doc             the manual page and config/ragno.ini, from the program's option table
doc: all
	@$(OUT)/ragno --print-config=sample >config/ragno.ini
	@tools/make-manual $(OUT)/ragno doc/ragno.1.in "$(VERSION)" >doc/ragno.1

## make install         program, library, configuration, manual (PREFIX=/usr/local, DESTDIR=)
install: all $(OUT)/install/libragno.a $(OUT)/install/libragno.so.$(VERSION)
	@PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)' VERSION='$(VERSION)' SO='$(SO)' \
	    OUT='$(OUT)' PKGS='$(LIBRAGNO_PKGS)' tools/install $(LIBRAGNO_HEADERS)

.SECONDARY:
-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
