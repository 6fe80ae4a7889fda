/* What is served: from host and path to a Reply.
 *
 * Two worlds. The open one is endless: hosts and pages follow BUbiNG's random graph server (depth
 * and degree per host log-normal, a tenth of the links external, the rest to parent or children).
 * The closed one has exactly N pages over H hosts, all reachable from the seed and allowed, with
 * power-law in-degrees, so that completeness can be checked. Both are functions of the seed alone.
 *
 * Read-only after site_init but for the visit counts (atomic); any thread. */
#ifndef TESTS_WEB_SITE_H
#define TESTS_WEB_SITE_H

#include <stdatomic.h>

#include "misbehaviour.h"
#include "names.h"
#include "options.h"
#include "reply.h"
#include "request.h"
#include "text.h"

typedef struct Site {
    const WebOptions *options; /* borrowed */
    const Names *names;        /* borrowed */
    Text text;
    TrickKit kit;
    uint32_t *host_of_page;   /* owned; closed world: options->pages of them */
    _Atomic uint64_t *served; /* owned; version of each page given out last, 0: none (change.h) */
    atomic_uint visits[MISBEHAVIOURS_MAX];
} Site;

/* RESULT_MEMORY. options and names stay with the caller. */
Result site_init(Site *site, const WebOptions *options, const Names *names);
void site_destroy(Site *site);

/* Fills reply; returns the RequestFlag bits (forbidden, robots) for the log. */
unsigned site_reply(Site *site, const Request *request, Reply *reply);

#endif
