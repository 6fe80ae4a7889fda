/* Memory for one piece of work: many small allocations, one reset.
 *
 * What: arena_reset keeps the first block, so that a steady flow of pages allocates nothing.
 * Owns: its blocks; what was allocated is gone with the next reset.
 * Threads: an arena belongs to one thread, and its memory never leaves that thread.
 * Errors: NULL when memory or the limit is used up.
 * Source: the idea is that of h2o's memory pools. */
#pragma once

#include <stddef.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *blocks; /* newest first */
    char *next;         /* first free byte of the newest block */
    char *end;          /* its end */
    size_t block_bytes; /* size of an ordinary block */
    size_t used_bytes;  /* handed out since the last reset */
    size_t limit_bytes; /* used_bytes never exceeds it */
} Arena;

/* Allocates nothing yet. block_bytes at least 256. */
void arena_init(Arena *arena, size_t block_bytes, size_t limit_bytes);
void arena_destroy(Arena *arena);
/* Forgets everything handed out; keeps one block. */
void arena_reset(Arena *arena);

/* size bytes aligned for any type, not cleared. NULL when memory or the limit is exhausted. */
void *arena_alloc(Arena *arena, size_t size);
/* The same, unaligned: for bytes. */
char *arena_alloc_bytes(Arena *arena, size_t size);
/* A NUL-terminated copy, or NULL. */
char *arena_copy(Arena *arena, const char *bytes, size_t length);
