# ragno: one non-recursive Makefile. `make help` lists what it can do.
#
# Modes never mix: objects live under build/$(MODE)/. `make` builds release and links it to build/ragno.

MODE ?= release
CC ?= gcc
PKGS := libcurl libxml-2.0 libcares lmdb libpcre2-8 inih libpsl libidn2 libxxhash libdeflate zlib \
        libzstd libbrotlidec libcrypto
PREFIX ?= /usr/local
VERSION := 0.1.0
OUT := build/$(MODE)

ifeq ($(filter deps help clean distclean,$(MAKECMDGOALS)),)
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
OPT_cov := -O0 -g --coverage -DRAGNO_CHECK_LOCKS
OPT := $(OPT_$(MODE))
ifeq ($(OPT),)
  $(error MODE=$(MODE): expected release, asan, tsan, cov or lint)
endif

CPPFLAGS := -D_GNU_SOURCE -Isrc -DRAGNO_VERSION='"$(VERSION)"'
CFLAGS := -std=gnu11 $(OPT) $(WARN) -fPIC -pthread $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LDFLAGS := $(OPT) -pthread
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm

LAYERS := base parse store frontier fetch
LIB_SRC := $(foreach l,$(LAYERS),$(sort $(wildcard src/$(l)/*.c))) $(sort $(filter-out src/main.c,$(wildcard src/*.c)))
LIB_OBJ := $(LIB_SRC:%.c=$(OUT)/%.o)
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(OUT)/tests/%)
BENCH_SRC := $(sort $(wildcard tests/bench/bench_*.c))
BENCH_BIN := $(BENCH_SRC:tests/bench/%.c=$(OUT)/bench/%)
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
WEB_SRC := $(sort $(wildcard tests/web/*.c))
SIM_SRC := $(sort $(wildcard tests/sim/*.c))

.DEFAULT_GOAL := all
.PHONY: all help
all: $(OUT)/ragno
	@ln -sfn $(MODE)/ragno build/ragno

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC  $<'
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/libragno.a: $(LIB_OBJ)
	@rm -f $@
	@ar rcs $@ $^

$(OUT)/ragno: $(OUT)/src/main.o $(OUT)/libragno.a
	@echo '  LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# A unit test is one file, one program: tests/unit/test_NAME.c -> $(OUT)/tests/test_NAME.
$(OUT)/tests/test_%: $(OUT)/tests/unit/test_%.o $(OUT)/libragno.a
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcunit

# A benchmark is one file, one program: tests/bench/bench_NAME.c, with the workload they share.
$(OUT)/bench/bench_%: $(OUT)/tests/bench/bench_%.o $(OUT)/tests/bench/workload.o $(OUT)/libragno.a
	@mkdir -p $(@D)
	@echo '  LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The synthetic web needs the lowest layer only: it builds while others do not.
$(OUT)/web: $(WEB_SRC:%.c=$(OUT)/%.o) $(filter $(OUT)/src/base/%,$(LIB_OBJ))
	@echo '  LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The frontier in virtual time.
$(OUT)/sim: $(SIM_SRC:%.c=$(OUT)/%.o) $(OUT)/libragno.a
	@echo '  LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: unit
## make unit            builds and runs the unit tests (T=name for one)
unit: $(if $(T),$(OUT)/tests/test_$(T),$(UNIT_BIN))
	@tests/run-unit $^

# Debian packages: to build, crawl and test; and what `make lint` and the longer tests use besides.
DEPS := gcc make pkg-config libcurl4-openssl-dev libxml2-dev libc-ares-dev liblmdb-dev \
        libpcre2-dev libinih-dev libpsl-dev libidn2-dev libxxhash-dev libdeflate-dev zlib1g-dev \
        libzstd-dev libbrotli-dev libssl-dev libcunit1-dev python3 lmdb-utils
DEPS_DEV := clang clang-format clang-tidy cppcheck nginx-light apache2-doc debian-handbook \
        postgresql-doc-15 wrk

.PHONY: deps deps-dev integration test lint check demo bench everything
## make deps            installs the Debian packages that are missing (asks for root only then)
deps:
	@tools/deps $(DEPS)

## make deps-dev        and those for `make lint` and the longer tests
deps-dev:
	@tools/deps $(DEPS) $(DEPS_DEV)

everything: all $(OUT)/web $(OUT)/sim $(UNIT_BIN) $(BENCH_BIN)

## make integration     the real program against the synthetic web (T=name for one, FULL=1 for long)
integration: all $(OUT)/web
	@OUT=$(OUT) tests/run-integration $(if $(T),tests/integration/$(T).py)

.PHONY: sim
## make sim             crawls of simulated webs in virtual time
sim: $(OUT)/sim
	@OUT=$(OUT) tests/run-sim

## make test            unit tests, simulated crawls and integration tests
test: all $(OUT)/web $(OUT)/sim $(UNIT_BIN)
	@OUT=$(OUT) tests/run-all $(UNIT_BIN)

## make lint            compilers' warnings, layers, words, clang-format, cppcheck, clang-tidy
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
bench: all $(OUT)/web $(OUT)/sim $(BENCH_BIN)
	@OUT=$(OUT) tests/run-bench "$(BENCH)" $(BENCH_BIN)

.SECONDARY:
-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
