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
OPT_cov := -O0 -g --coverage -DRAGNO_CHECK_LOCKS
OPT := $(OPT_$(MODE))
ifeq ($(OPT),)
  $(error MODE=$(MODE): expected release, asan, tsan or cov)
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

$(OUT)/web: $(WEB_SRC:%.c=$(OUT)/%.o) $(OUT)/libragno.a
	@echo '  LD  $@'
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: unit
## make unit            builds and runs the unit tests (T=name for one)
unit: $(if $(T),$(OUT)/tests/test_$(T),$(UNIT_BIN))
	@tests/run-unit $^

.SECONDARY:
-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
