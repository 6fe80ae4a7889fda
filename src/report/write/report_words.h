/* Report words: numbers as people read them.
 *
 * What: each function writes into text and returns it.
 * Threads: any; pure. */
#pragma once

#include "base/core/clock.h"

#define WORDS_BYTES 48

char *words_count(uint64_t n, char text[WORDS_BYTES]);                  /* 1,234,567 */
char *words_bytes(double bytes, char text[WORDS_BYTES]);                /* 12.3 MB */
char *words_share(uint64_t part, uint64_t all, char text[WORDS_BYTES]); /* 12.3 %, or "" */
char *words_ms(double ms, char text[WORDS_BYTES]);       /* 12 ms, 1.2 s, 3 min 20 s, 2 h 5 min */
char *words_time(WallTime time, char text[WORDS_BYTES]); /* 2026-01-31 12:00:00 */
char *words_range(uint64_t from, uint64_t to, char text[WORDS_BYTES]); /* 4 to 7 */
/* Of a power of two: 16 KiB to 32 KiB. */
char *words_bytes_range(uint64_t from, uint64_t to, char text[WORDS_BYTES]);
/* A number on an axis: 0, 0.5, 1.2k, 3M; bytes: 1.2 kB. */
char *words_tick(double value, bool bytes, char text[WORDS_BYTES]);
/* The meaning of a status or a negative code in a few words; NULL when it needs no explanation. */
const char *words_status(int status);
