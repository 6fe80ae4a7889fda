/* Entities table: the named character references, made by tools/make-entities-table.py.
 *
 * What: sorted names with their values in UTF-8.
 * Threads: any; constant. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ENTITY_ROWS       2125
#define ENTITY_NAME_BYTES 31 /* the longest name */
#define ENTITY_BARE_BYTES 6  /* the longest name that needs no semicolon */

typedef struct EntityRow {
    const char *name; /* without "&" and ";" */
    uint8_t length;   /* of name */
    bool bare;        /* also recognised without semicolon */
    char value[7];    /* UTF-8 */
} EntityRow;

extern const EntityRow entity_rows[ENTITY_ROWS];
/* Where the names that begin with A-Z, a-z begin; the last element is ENTITY_ROWS. */
extern const uint16_t entity_first[53];
