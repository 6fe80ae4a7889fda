/* The authority of a URL that is serialised already: where its parts are, its port, and the URL
 * without user information.
 *
 * What: "http://user:word@host:81/path" has the parts "user:word@", "host" and 81. url.h finds the
 * same while it parses; this module is for those who have the text of a parsed URL and do not want
 * to parse it again (one look at the bytes up to the path).
 *
 * Threads: any; pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Authority {
    size_t start;    /* behind "//": user information begins here, if there is any */
    size_t host;     /* behind "@"; the same as start without user information */
    size_t host_end; /* before ":port"; brackets belong to the host */
    size_t end;      /* of the authority: "/", "?" or the end */
    uint16_t port;   /* given, or that of the scheme; 0 when 0 is given */
} Authority;

/* href is a serialised http or https URL (Url.href, what the database holds) or an origin. */
Authority authority_of(const char *href, size_t length);
/* Removes user information with its "@" in place. The new length; NUL-terminated like before. */
size_t authority_strip(char *href, size_t length);
