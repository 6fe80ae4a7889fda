#include "names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PER_NET          (254U * 254U) /* addresses used of a /16: no octet 0 or 255 at the end */
#define FIRST_NET        16U
#define MISBEHAVIOUR_NET 250U
#define PER_MISBEHAVIOUR 10000U
#define PER_TRICK_NET    250U /* those of higher numbers are in the networks below */

static Result add_zone_line(Names *names, char *line, unsigned number)
{
    char *name = line + strspn(line, " \t");
    size_t length = strcspn(name, "= \t\r\n");
    char *address = name + length + strspn(name + length, "= \t");
    address[strcspn(address, " \t\r\n")] = '\0';
    if (length == 0 || name[0] == '#') {
        return RESULT_OK;
    }
    struct in_addr parsed;
    if (inet_pton(AF_INET, address, &parsed) != 1) {
        fprintf(stderr, "web: %s:%u: expected NAME=ADDRESS\n", names->options->zone_path, number);
        return RESULT_INVALID;
    }
    ZoneEntry *zone = realloc(names->zone, (names->n_zone + 1) * sizeof *zone);
    if (zone == NULL) {
        return RESULT_MEMORY;
    }
    names->zone = zone;
    char *copy = strndup(name, length);
    if (copy == NULL) {
        return RESULT_MEMORY;
    }
    zone[names->n_zone++] = (ZoneEntry){copy, ntohl(parsed.s_addr)};
    return RESULT_OK;
}

static Result read_zone(Names *names, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return RESULT_IO;
    }
    char line[1024];
    Result rc = RESULT_OK;
    for (unsigned number = 1; rc == RESULT_OK && fgets(line, sizeof line, file) != NULL; number++) {
        rc = add_zone_line(names, line, number);
    }
    fclose(file);
    return rc;
}

Result names_init(Names *names, const WebOptions *options)
{
    *names = (Names){.options = options, .suffix_length = strlen(options->suffix)};
    if (options->zone_path == NULL) {
        return RESULT_OK;
    }
    Result rc = read_zone(names, options->zone_path);
    if (rc != RESULT_OK) {
        names_destroy(names);
    }
    return rc;
}

void names_destroy(Names *names)
{
    for (size_t i = 0; i < names->n_zone; i++) {
        free(names->zone[i].name);
    }
    free(names->zone);
    names->zone = NULL;
    names->n_zone = 0;
}

/* A decimal number without leading zeros beyond `width` digits; UINT32_MAX when it is none. */
static uint32_t parse_number(const char *digits, size_t length, size_t width)
{
    if (length == 0 || length > 9 || length < width || (length > width && digits[0] == '0')) {
        return UINT32_MAX;
    }
    uint32_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)digits[i])) {
            return UINT32_MAX;
        }
        value = value * 10 + (uint32_t)(digits[i] - '0');
    }
    return value;
}

static Name find_misbehaviour(const char *label, size_t length)
{
    uint32_t number = 0;
    const Misbehaviour *trick = misbehaviour_find(label, length);
    if (trick == NULL) {
        const char *dash = memrchr(label, '-', length);
        if (dash == NULL) {
            return (Name){.kind = NAME_UNKNOWN};
        }
        number = parse_number(dash + 1, (size_t)(label + length - dash - 1), 1);
        trick = misbehaviour_find(label, (size_t)(dash - label));
    }
    if (trick == NULL || number >= PER_MISBEHAVIOUR) {
        return (Name){.kind = NAME_UNKNOWN};
    }
    uint32_t address = 127U << 24 | (MISBEHAVIOUR_NET - number / PER_TRICK_NET) << 16 |
                       misbehaviour_index(trick) << 8 | (number % PER_TRICK_NET + 1);
    return (Name){NAME_MISBEHAVIOUR, number, address, trick};
}

static Name find_label(const Names *names, const char *label, size_t length)
{
    if (length > 1 && (label[0] == 'h' || label[0] == 'H')) {
        uint32_t number = parse_number(label + 1, length - 1, 5);
        if (number < names->options->hosts) {
            return (Name){NAME_HOST, number, names_address_of_host(names, number), NULL};
        }
    }
    return find_misbehaviour(label, length);
}

Name names_find(const Names *names, const char *name, size_t length)
{
    if (length > 0 && name[length - 1] == '.') {
        length--;
    }
    size_t n = names->suffix_length;
    if (length >= n && strncasecmp(name + length - n, names->options->suffix, n) == 0) {
        if (length == n) {
            return (Name){.kind = NAME_SUFFIX};
        }
        if (name[length - n - 1] == '.') {
            return find_label(names, name, length - n - 1);
        }
    }
    for (size_t i = 0; i < names->n_zone; i++) {
        if (strlen(names->zone[i].name) == length &&
            strncasecmp(name, names->zone[i].name, length) == 0) {
            return (Name){.kind = NAME_ZONE, .address = names->zone[i].address};
        }
    }
    return (Name){.kind = NAME_UNKNOWN};
}

size_t names_of_host(const Names *names, uint32_t number, char text[NAMES_TEXT_BYTES])
{
    char digits[10];
    size_t n = 0;
    for (; n < 5 || number != 0; number /= 10) {
        digits[n++] = (char)('0' + number % 10);
    }
    char *to = text;
    *to++ = 'h';
    while (n > 0) {
        *to++ = digits[--n];
    }
    *to++ = '.';
    size_t suffix = names->suffix_length < 255 ? names->suffix_length : 255;
    memcpy(to, names->options->suffix, suffix);
    to[suffix] = '\0';
    return (size_t)(to - text) + suffix;
}

uint32_t names_address_of_host(const Names *names, uint32_t number)
{
    uint32_t a = number % names->options->addresses;
    return 127U << 24 | (FIRST_NET + a / PER_NET) << 16 | (a / 254U % 254U + 1) << 8 |
           (a % 254U + 1);
}

char *names_format_address(uint32_t address, char text[NAMES_ADDRESS_BYTES])
{
    struct in_addr in = {htonl(address)};
    (void)inet_ntop(AF_INET, &in, text, NAMES_ADDRESS_BYTES);
    return text;
}
