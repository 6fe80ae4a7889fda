/* What is to be forgotten: hosts, URLs, what an expression finds, or what is older than a time.
 *
 * What: the targets of one order, as DIR/forget/order keeps them, a line each:
 *
 *   host example.org            the host, and all hosts below it
 *   url http://a.example/x      this URL
 *   regex ^http://a\.example/   URLs in which the expression (PCRE) is found
 *   older 1767225600000000      what was fetched before (microseconds since 1970)
 *   keep-graph | hash-logs      options
 *
 * Owns: its copies.
 * Threads: one writes; the questions are pure.
 * Errors: error gets one sentence. */
#ifndef COMMAND_FORGET_FORGET_TARGET_H
#define COMMAND_FORGET_FORGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/memory/buffer.h"
#include "cluster/link/outbox.h"
#include "rules/scope/url_lists.h"

typedef enum ForgetKind { FORGET_HOST, FORGET_URL, FORGET_REGEX } ForgetKind;

typedef struct ForgetTarget {
    ForgetKind kind;
    char *text; /* as the parser of URLs writes it */
    size_t length;
    UrlRegex *regex;
} ForgetTarget;

typedef struct ForgetTargets {
    ForgetTarget *all;
    size_t n;
    WallTime before; /* 0: no age is given */
    bool keep_graph; /* pages stay as nameless nodes, with their links */
    bool hash_logs;  /* lines of crawl.log stay, with a hash for a URL */
} ForgetTargets;     /* all zero: none */

/* A word of the command line: a host, or a URL. RESULT_INVALID. */
Result forget_targets_add(ForgetTargets *targets, const char *word, Buffer *error);
Result forget_targets_add_regex(ForgetTargets *targets, const char *regex, Buffer *error);
void forget_targets_destroy(ForgetTargets *targets);

/* As lines, and back. */
Result forget_targets_write(const ForgetTargets *targets, Buffer *out);
Result forget_targets_read(ForgetTargets *targets, const char *text, Buffer *error);

/* Whether a host is meant as a whole; a URL, whatever its age; a URL of another scheme (dns:NAME).
 */
bool forget_means_host(const ForgetTargets *targets, const char *name, size_t length);
bool forget_means_url(const ForgetTargets *targets, const char *url, size_t length);
/* Whether a piece of text names what is meant: a host's name, a URL, or one that an expression
 * finds. */
bool forget_is_named(const ForgetTargets *targets, const char *text, size_t length);
/* Whether a block for another agent (cluster/wire/link_block.h) has a link that is meant, or is a
 * host that is. Its other links go on into a draft, for agent `to`; NULL: nowhere. RESULT_DAMAGED.
 */
Result forget_read_block(const ForgetTargets *targets, const void *bytes, size_t length,
                         uint16_t to, OutboxDraft *draft, bool *named);

#endif
