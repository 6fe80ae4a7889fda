/* Pages that change: --change-ms N. Page i of the closed world gets a new version every
 * N * 2^(i % 6) ms, by the wall clock, so that a server that is started again goes on. Its links
 * stay.
 *
 * Answers have validators: an ETag (i % 4 != 3), the time of the last change (i odd). Pages that
 * have only the latter change at whole seconds, every other second at most, so that their date
 * tells versions apart. A request whose condition holds is answered 304 (RFC 9110, 13.2.2:
 * If-None-Match decides when both are there). */
#ifndef TESTS_WEB_CHANGE_H
#define TESTS_WEB_CHANGE_H

#include "site.h"

typedef struct Change {
    uint64_t version;
    char header[128]; /* lines with the validators */
    bool not_modified;
    unsigned flags; /* REQUEST_CONDITIONAL, REQUEST_STALE */
} Change;

/* What a request for page i finds. Notes the version as the last one given out. */
void change_look(const Site *site, uint32_t i, const Request *request, Change *change);

#endif
