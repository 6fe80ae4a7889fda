/* The names of the synthetic web, and their addresses.
 *
 *   hNNNNN.SUFFIX       host number N: 127.16.0.1 and upwards, several hosts on one address
 *   NAME[-N].SUFFIX     misbehaviour NAME (misbehaviour.h): 127.250.k.n and downwards, an address
 * of its own anything            listed in the zone file
 *
 * A number has one spelling only ("h00007", never "h7"). Read-only after names_init; any thread. */
#ifndef TESTS_WEB_NAMES_H
#define TESTS_WEB_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/result.h"
#include "misbehaviour.h"
#include "options.h"

typedef enum NameKind {
    NAME_UNKNOWN,
    NAME_HOST,
    NAME_MISBEHAVIOUR,
    NAME_ZONE,
    NAME_SUFFIX /* the suffix itself: exists, has no address */
} NameKind;

typedef struct Name {
    NameKind kind;
    uint32_t number;           /* NAME_HOST, NAME_MISBEHAVIOUR */
    uint32_t address;          /* host byte order; 0 when it has none */
    const Misbehaviour *trick; /* NAME_MISBEHAVIOUR */
} Name;

typedef struct ZoneEntry {
    char *name; /* owned, lower case */
    uint32_t address;
} ZoneEntry;

typedef struct Names {
    const WebOptions *options; /* borrowed */
    size_t suffix_length;
    ZoneEntry *zone; /* owned, n_zone of them */
    size_t n_zone;
} Names;

/* Reads the zone file if there is one. RESULT_IO, RESULT_INVALID after a message on stderr. */
Result names_init(Names *names, const WebOptions *options);
void names_destroy(Names *names);

/* What this name is; case is ignored, a final dot allowed. */
Name names_find(const Names *names, const char *name, size_t length);

/* The name of host number, written to text; returns its length. */
#define NAMES_TEXT_BYTES 300
size_t names_of_host(const Names *names, uint32_t number, char text[NAMES_TEXT_BYTES]);
uint32_t names_address_of_host(const Names *names, uint32_t number);

/* Dotted quad. */
#define NAMES_ADDRESS_BYTES 16
char *names_format_address(uint32_t address, char text[NAMES_ADDRESS_BYTES]);

#endif
