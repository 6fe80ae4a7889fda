/* Reading one DNS query and writing its answer. Pure; time is a parameter. Source: RFC 1035. */
#ifndef TESTS_WEB_DNS_MESSAGE_H
#define TESTS_WEB_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/clock.h"
#include "names.h"

#define DNS_MESSAGE_BYTES 4096

typedef struct DnsAnswer {
    unsigned char bytes[DNS_MESSAGE_BYTES];
    size_t length; /* 0: no answer is to be given */
    unsigned delay_ms;
} DnsAnswer;

/* Answers query, which came over TCP or not. */
void dns_message_answer(const Names *names, const unsigned char *query, size_t length, bool tcp,
                        MonoTime now, DnsAnswer *answer);

#endif
