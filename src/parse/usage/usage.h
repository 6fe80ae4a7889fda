/* Usage: for what a site says its pages may be used, and for what not.
 *
 * What: a statement stands somewhere (UsagePlace), in some words, and denies and allows some of
 * five usages. Whoever reads headers, pages or files of a site adds what is stated there to a
 * ledger, if one is kept, and returns what it comes to. The usages, and where they are stated:
 *
 *   train-ai   Content-Usage: train-ai=n          Content-Signal: ai-train=no        noai
 *   ai-input   Content-Usage: ai-use=n            Content-Signal: ai-input=no        noai
 *   search     Content-Usage: search=n            Content-Signal: search=no
 *   tdm        TDM-Reservation: 1 (header, meta tdm-reservation), Content-Usage: tdm=n; it denies
 *              train-ai, too
 *   image-ai   noimageai (meta robots, X-Robots-Tag)
 *   all        WWW-Authenticate: License, crawler-price: offers, which are told and not taken; a
 *              licence that only the page names (Link, link element of type application/rsl+xml)
 *
 * What /.well-known/tdmrep.json reserves counts as tdm, too (parse/robots/robots.h), and a licence
 * file speaks of all (rsl.h).
 * Content-Usage and Content-Signal are headers and lines of robots.txt, there with a path in front
 * if they are not for the whole site. "bots=n" denies all. Statements add up; what one of them
 * denies is not allowed by another, wherever each stands: the strictest holds.
 *
 * Threads: pure functions.
 * Source: draft-ietf-aipref-vocab and -attach; contentsignals.org; the TDM Reservation Protocol of
 * W3C's community group; DeviantArt's noai. */
#pragma once

#include "parse/http/http_header.h"

typedef enum UsagePlace {
    USAGE_IN_HEADER,
    USAGE_IN_PAGE, /* a meta or link element */
    USAGE_IN_ROBOTS,
    USAGE_IN_TDM,
    USAGE_IN_LICENCE, /* the first one that robots.txt names; the others are behind it */
    USAGE_PLACES = USAGE_IN_LICENCE + 4
} UsagePlace;

static inline bool usage_is_licence(UsagePlace place)
{
    return place >= USAGE_IN_LICENCE;
}

enum {
    USAGE_TRAIN_AI = 1,
    USAGE_AI_INPUT = 2,
    USAGE_SEARCH = 4,
    USAGE_TDM = 8,
    USAGE_IMAGE_AI = 16,
    USAGE_ALL = 31
};

/* No bit is in denied and allowed. */
typedef struct Usage {
    uint8_t denied;
    uint8_t allowed;    /* expressly */
    bool names_licence; /* it names a licence (RSL), which is asked for when robots.txt does, too */
    bool robots_names_it; /* that does */
} Usage;

/* What two statements say together, in whatever order. */
static inline Usage usage_join(Usage a, Usage b)
{
    uint8_t denied = a.denied | b.denied;
    return (Usage){.denied = denied,
                   .allowed = (uint8_t)((a.allowed | b.allowed) & ~denied),
                   .names_licence = a.names_licence || b.names_licence,
                   .robots_names_it = a.robots_names_it || b.robots_names_it};
}

/* What all statements about a page come to: a licence that only the page names has not been read,
 * and permits nothing. */
static inline Usage usage_settle(Usage usage)
{
    bool is_unread = usage.names_licence && !usage.robots_names_it;
    if (is_unread) {
        usage = (Usage){.denied = USAGE_ALL};
    }
    return usage;
}

typedef struct UsageStatement {
    UsagePlace place;
    unsigned line;    /* of its file, 1-based; 0: that has none */
    const char *text; /* its words; borrowed from what was read, or from what was made of it */
    size_t length;
    Usage usage;
} UsageStatement;

/* The statements about one page, for those who must show the sentence and not only what follows
 * from it. The list is the caller's. */
typedef struct UsageLedger {
    UsageStatement *list;
    size_t n, max;
    bool is_cut; /* there were more than max */
} UsageLedger;

/* Adds what denies or allows something, or names a licence; nothing when ledger is NULL. */
void usage_ledger_add(UsageLedger *ledger, const UsageStatement *statement);

/* The bits that a statement about a name ("train-ai", "ai-train", ...) is about, compared without
 * case; 0 when it is none. */
unsigned usage_of_name(const char *name, size_t length);
#define USAGE_WORDS "a usage (train-ai, ai-input, search, tdm, image-ai)"
/* The bits that a question about a name is about; 0 when it is none: who asks for tdm does not mean
 * train-ai. */
unsigned usage_asked(const char *name, size_t length);
/* "train-ai, search": the bits of a list. RESULT_INVALID: error says what is wrong. */
Result usage_list_parse(const char *text, unsigned *bits, Buffer *error);
/* Appends the names of bits: "train-ai+search"; "-" for none. */
Result usage_print(unsigned bits, Buffer *out);

/* Appends both sides as one dictionary: "train-ai=n, search=y"; nothing when nothing is said. */
Result usage_print_terms(Usage usage, Buffer *out);
#define USAGE_TERMS_BYTES 80u
/* The bits that such a dictionary allows. */
unsigned usage_terms_allowed(const char *terms);

/* "train-ai=n, search=y": the value of Content-Usage or Content-Signal. What is not known is
 * skipped. */
Usage usage_of_dictionary(const char *value, size_t length);
/* "noindex, noai": what meta robots or one X-Robots-Tag says to all, or to agent (a product token
 * or NULL). */
Usage usage_of_robots_words(const char *value, size_t length);
/* All headers of an answer. ledger may be NULL. */
Usage usage_of_header(const HttpHeader *header, UsageLedger *ledger);
/* The meta elements robots, tdm-reservation and content-usage of an HTML page, and its links to
 * licences, as its bytes stand there: nothing is run, and comments count as text, so that a denial
 * may be read that no browser sees. Only the first USAGE_HTML_BYTES are looked at. */
#define USAGE_HTML_BYTES 65536u
Usage usage_of_html(const char *bytes, size_t length, UsageLedger *ledger);

/* What is done about pages that deny a usage: politeness.usage = "train-ai no-store, tdm no-fetch".
 */
typedef struct UsageRules {
    uint8_t no_fetch; /* usages whose denial keeps a page from being fetched */
    uint8_t no_store; /* and from being stored */
} UsageRules;

/* RESULT_INVALID: error says what is wrong. */
Result usage_rules_parse(const char *text, UsageRules *rules, Buffer *error);
