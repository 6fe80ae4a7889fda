#include "base/memory/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ArenaBlock {
    ArenaBlock *older;
    size_t bytes; /* usable bytes */
    alignas(max_align_t) char memory[];
};

void arena_init(Arena *arena, size_t block_bytes, size_t limit_bytes)
{
    *arena =
        (Arena){.block_bytes = block_bytes < 256 ? 256 : block_bytes, .limit_bytes = limit_bytes};
}

static void open_block(Arena *arena, ArenaBlock *block)
{
    arena->next = block->memory;
    arena->end = block->memory + block->bytes;
}

void arena_reset(Arena *arena)
{
    arena->used_bytes = 0;
    while (arena->blocks != NULL &&
           (arena->blocks->older != NULL || arena->blocks->bytes > arena->block_bytes)) {
        ArenaBlock *block = arena->blocks;
        arena->blocks = block->older;
        free(block);
    }
    if (arena->blocks == NULL) {
        arena->next = NULL;
        arena->end = NULL;
    } else {
        open_block(arena, arena->blocks);
    }
}

void arena_destroy(Arena *arena)
{
    arena_reset(arena);
    free(arena->blocks);
    arena->blocks = NULL;
    arena->next = NULL;
    arena->end = NULL;
}

static void *arena_take(Arena *arena, size_t size, size_t alignment)
{
    if (size > arena->limit_bytes - arena->used_bytes) {
        return NULL;
    }
    size_t skip = arena->next == NULL ? 0 : (size_t)(-(uintptr_t)arena->next & (alignment - 1));
    if (arena->next == NULL || size + skip > (size_t)(arena->end - arena->next)) {
        size_t bytes = size > arena->block_bytes ? size : arena->block_bytes;
        ArenaBlock *block = malloc(sizeof *block + bytes);
        if (block == NULL) {
            return NULL;
        }
        block->bytes = bytes;
        block->older = arena->blocks;
        arena->blocks = block;
        open_block(arena, block);
        skip = 0;
    }
    char *memory = arena->next + skip;
    arena->next = memory + size;
    arena->used_bytes += size;
    return memory;
}

void *arena_alloc(Arena *arena, size_t size)
{
    return arena_take(arena, size, alignof(max_align_t));
}

char *arena_alloc_bytes(Arena *arena, size_t size)
{
    return arena_take(arena, size, 1);
}

char *arena_copy(Arena *arena, const char *bytes, size_t length)
{
    char *copy = length == SIZE_MAX ? NULL : arena_take(arena, length + 1, 1);
    if (copy != NULL) {
        memcpy(copy, bytes, length);
        copy[length] = '\0';
    }
    return copy;
}
