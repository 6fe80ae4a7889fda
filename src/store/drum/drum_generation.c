#include "store/drum/drum_generation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DrumGeneration *drum_generation_new(int directory, const DrumOptions *options, uint64_t number)
{
    DrumGeneration *generation = calloc(1, sizeof *generation);
    if (generation != NULL) {
        drum_file_init(&generation->file, directory, number, options->keys, options->buckets);
    }
    return generation;
}

void drum_generation_delete(DrumGeneration *generation)
{
    if (generation != NULL) {
        drum_file_destroy(&generation->file);
        free(generation);
    }
}

Result drum_generations_reserve(DrumGenerations *list)
{
    if (list->n < list->capacity) {
        return RESULT_OK;
    }
    size_t capacity = list->capacity == 0 ? 4 : 2 * list->capacity;
    DrumGeneration **items = realloc(list->items, capacity * sizeof(DrumGeneration *));
    if (items == NULL) {
        return RESULT_MEMORY;
    }
    list->items = items;
    list->capacity = capacity;
    return RESULT_OK;
}

void drum_generations_add(DrumGenerations *list, DrumGeneration *generation)
{
    list->items[list->n++] = generation;
}

DrumGeneration *drum_generations_take(DrumGenerations *list)
{
    DrumGeneration *oldest = list->items[0];
    list->n--;
    memmove(list->items, list->items + 1, list->n * sizeof(DrumGeneration *));
    return oldest;
}

void drum_generations_destroy(DrumGenerations *list)
{
    for (size_t i = 0; i < list->n; i++) {
        drum_generation_delete(list->items[i]);
    }
    free(list->items);
}

static int drum_generation_compare_numbers(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

Result drum_generations_list_files(int directory, uint64_t **numbers, size_t *n)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (stream == NULL) {
        int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return result_of_errno(error);
    }
    *numbers = NULL;
    *n = 0;
    size_t capacity = 0;
    Result rc = RESULT_OK;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        uint64_t number;
        if (!drum_file_parse_name(entry->d_name, &number)) {
            continue;
        }
        if (*n == capacity) {
            capacity = capacity == 0 ? 16 : 2 * capacity;
            uint64_t *more = realloc(*numbers, capacity * sizeof *more);
            if (more == NULL) {
                rc = RESULT_MEMORY;
                break;
            }
            *numbers = more;
        }
        (*numbers)[(*n)++] = number;
    }
    (void)closedir(stream);
    if (rc == RESULT_OK && *n > 1) {
        qsort(*numbers, *n, sizeof **numbers, drum_generation_compare_numbers);
    }
    return rc;
}
