/* HTTP walls: answers by which a site keeps crawlers out.
 *
 * What: a wall is a status (402, 403, 429), or a challenge: a page that wants proof of a human
 * before it shows anything, whatever its status. Challenges are told by headers that their makers
 * document, and by names that only their pages have; a page that merely carries a maker's script is
 * none. What is not known here is told by its status alone. ragno gets through none of them; it
 * counts them.
 * Threads: pure functions.
 * Source: Cloudflare, "Detect a Challenge Page response" (cf-mitigated); AWS WAF developer guide
 * (x-amzn-waf-action); Vercel, "Attack Challenge Mode" (x-vercel-mitigated); Anubis. */
#pragma once

#include "parse/http/http_header.h"

typedef enum HttpWall {
    WALL_PAYMENT,   /* 402 */
    WALL_FORBIDDEN, /* 403 */
    WALL_BUSY,      /* 429 */
    WALL_CHALLENGE, /* a challenge, whatever its status */
    HTTP_WALLS      /* it is none */
} HttpWall;

#define HTTP_WALL_LOOKED_AT    65536u /* bytes of a body that are searched, of an error */
#define HTTP_WALL_LOOKED_AT_OK 8192u  /* and of another answer: challenges name themselves early */

/* body: without its content coding; may be NULL when length is 0. */
HttpWall http_wall_of(int status, const HttpHeader *header, const char *body, size_t length);
/* "402", "403", "429", "challenge". */
const char *http_wall_name(HttpWall wall);
