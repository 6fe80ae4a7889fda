#include "dns_message.h"

#include <stdio.h>
#include <string.h>

enum { HEADER_BYTES = 12, NAME_BYTES = 256 };
enum { TYPE_A = 1, TYPE_CNAME = 5, CLASS_IN = 1 };
enum { CODE_OK = 0, CODE_FORMAT = 1, CODE_SERVFAIL = 2, CODE_NXDOMAIN = 3, CODE_REFUSED = 5 };

#define CHAIN_LENGTH 8
#define MANY         20
#define SLOW_MS      1500

typedef struct DnsQuery {
    char name[NAME_BYTES]; /* dotted, as asked */
    size_t name_length;
    unsigned type;
    size_t question_bytes; /* name, type and class on the wire */
} DnsQuery;

/* The question into query; false when the message is none. */
static bool parse_query(const unsigned char *bytes, size_t length, DnsQuery *query)
{
    size_t at = HEADER_BYTES;
    query->name_length = 0;
    while (at < length && bytes[at] != 0) {
        size_t n = bytes[at];
        if (n > 63 || at + 1 + n >= length || query->name_length + n + 2 > NAME_BYTES) {
            return false;
        }
        if (query->name_length > 0) {
            query->name[query->name_length++] = '.';
        }
        memcpy(query->name + query->name_length, bytes + at + 1, n);
        query->name_length += n;
        at += n + 1;
    }
    query->name[query->name_length] = '\0';
    if (at + 5 > length) {
        return false;
    }
    query->type = (unsigned)bytes[at + 1] << 8 | bytes[at + 2];
    query->question_bytes = at + 5 - HEADER_BYTES;
    return true;
}

static void put_16(DnsAnswer *answer, unsigned value)
{
    answer->bytes[answer->length++] = (unsigned char)(value >> 8);
    answer->bytes[answer->length++] = (unsigned char)value;
}

static void put_32(DnsAnswer *answer, uint32_t value)
{
    put_16(answer, value >> 16);
    put_16(answer, value & 0xFFFF);
}

/* A dotted name as labels. */
static void put_name(DnsAnswer *answer, const char *name)
{
    while (*name != '\0') {
        size_t n = strcspn(name, ".");
        answer->bytes[answer->length++] = (unsigned char)n;
        memcpy(answer->bytes + answer->length, name, n);
        answer->length += n;
        name += n + (name[n] == '.');
    }
    answer->bytes[answer->length++] = 0;
}

/* One more record in the answer section. owner NULL: the name asked for. */
static void begin_record(DnsAnswer *answer, const char *owner, unsigned type, unsigned ttl_s)
{
    answer->bytes[7]++; /* never more than MANY */
    if (owner == NULL) {
        put_16(answer, 0xC000 | HEADER_BYTES);
    } else {
        put_name(answer, owner);
    }
    put_16(answer, type);
    put_16(answer, CLASS_IN);
    put_32(answer, ttl_s);
}

static void add_address(DnsAnswer *answer, const char *owner, unsigned ttl_s, uint32_t address)
{
    begin_record(answer, owner, TYPE_A, ttl_s);
    put_16(answer, 4);
    put_32(answer, address);
}

static void add_alias(DnsAnswer *answer, const char *owner, unsigned ttl_s, const char *target)
{
    begin_record(answer, owner, TYPE_CNAME, ttl_s);
    size_t at = answer->length;
    put_16(answer, 0);
    put_name(answer, target);
    size_t n = answer->length - at - 2;
    answer->bytes[at] = (unsigned char)(n >> 8);
    answer->bytes[at + 1] = (unsigned char)n;
}

static void set_code(DnsAnswer *answer, unsigned code)
{
    answer->bytes[3] = (unsigned char)((answer->bytes[3] & 0xF0) | code);
}

static void add_chain(const WebOptions *o, DnsAnswer *answer, uint32_t address)
{
    char owner[NAME_BYTES + 32];
    char target[NAME_BYTES + 32];
    for (int i = 1; i <= CHAIN_LENGTH; i++) {
        (void)snprintf(target, sizeof target, "link%d.chain.%.200s", i, o->suffix);
        add_alias(answer, i == 1 ? NULL : owner, o->ttl_s, target);
        memcpy(owner, target, sizeof owner);
    }
    add_address(answer, owner, o->ttl_s, address);
}

typedef struct TrickAnswer {
    const Names *names;
    const DnsQuery *query;
    uint32_t address;
    bool tcp;
    MonoTime now;
} TrickAnswer;

/* The misbehaving hosts; only A is asked here. */
static void answer_trick(const TrickAnswer *t, const char *trick, DnsAnswer *answer)
{
    const WebOptions *o = t->names->options;
    const char *name = trick + sizeof "dns-" - 1;
    if (strcmp(name, "silent") == 0) {
        answer->length = 0;
    } else if (strcmp(name, "servfail") == 0) {
        set_code(answer, CODE_SERVFAIL);
    } else if (strcmp(name, "refused") == 0) {
        set_code(answer, CODE_REFUSED);
    } else if (strcmp(name, "chain") == 0) {
        add_chain(o, answer, t->address);
    } else if (strcmp(name, "loop") == 0) {
        add_alias(answer, NULL, o->ttl_s, t->query->name);
    } else if (strcmp(name, "many") == 0) {
        for (uint32_t i = 0; i < MANY; i++) {
            add_address(answer, NULL, o->ttl_s, t->address + i);
        }
    } else if (strcmp(name, "moving") == 0) {
        uint32_t move = (uint32_t)(t->now.ns / 1000000000 / o->move_s);
        add_address(answer, NULL, o->move_s, t->address ^ (move % 2) << 16);
    } else if (strcmp(name, "private") == 0) {
        add_address(answer, NULL, o->ttl_s, 10U << 24 | 1U << 16 | 2U << 8 | 3U);
        add_address(answer, NULL, o->ttl_s, 192U << 24 | 168U << 16 | 1U << 8 | 1U);
    } else if (strcmp(name, "truncated") == 0) {
        if (t->tcp) {
            add_address(answer, NULL, o->ttl_s, t->address);
        } else {
            answer->bytes[2] |= 0x02; /* TC */
        }
    } else if (strcmp(name, "empty") != 0) {
        add_address(answer, NULL, o->ttl_s, t->address);
        answer->delay_ms = strcmp(name, "slow") == 0 ? SLOW_MS : 0;
        answer->bytes[1] ^= strcmp(name, "wrong-id") == 0 ? 0x55 : 0;
    }
}

void dns_message_answer(const Names *names, const unsigned char *query, size_t length, bool tcp,
                        MonoTime now, DnsAnswer *answer)
{
    answer->length = 0;
    answer->delay_ms = 0;
    DnsQuery q;
    if (length < HEADER_BYTES || (query[2] & 0x80) != 0) {
        return; /* not a query */
    }
    memcpy(answer->bytes, query, HEADER_BYTES);
    answer->bytes[2] = (unsigned char)(0x84 | (query[2] & 0x79)); /* answer, authoritative */
    answer->bytes[3] = 0x80;                                      /* recursion "available" */
    memset(answer->bytes + 6, 0, 6);
    answer->length = HEADER_BYTES;
    if (query[4] != 0 || query[5] != 1 || !parse_query(query, length, &q)) {
        answer->bytes[5] = 0;
        set_code(answer, CODE_FORMAT);
        return;
    }
    memcpy(answer->bytes + HEADER_BYTES, query + HEADER_BYTES, q.question_bytes);
    answer->length += q.question_bytes;
    Name name = names_find(names, q.name, q.name_length);
    if (name.kind == NAME_UNKNOWN) {
        set_code(answer, CODE_NXDOMAIN);
        answer->delay_ms = names->options->unknown_ms;
    } else if (q.type == TYPE_A && name.kind == NAME_MISBEHAVIOUR &&
               name.trick->kind == TRICK_DNS) {
        TrickAnswer trick = {names, &q, name.address, tcp, now};
        answer_trick(&trick, name.trick->name, answer);
    } else if (q.type == TYPE_A && name.address != 0) {
        add_address(answer, NULL, names->options->ttl_s, name.address);
    }
}
