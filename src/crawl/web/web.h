/* Web: the status page of a running crawl, and its metrics (control.listen).
 *
 *   browser, Prometheus --HTTP--> libmicrohttpd's thread --control socket--> main thread
 *                                      '--question--> look (web_look.h)
 *
 *   /                                the page (page.html, page.css, page.js)
 *   /status.json                     as DIR/status.json, of this moment
 *   /history.json                    rates and sizes of the last hours
 *   /hosts.json?order=&filter=&rows= hosts (survey.h)
 *   /why.json?url=  /why.txt?url=    as ragno why
 *   /metrics                         for Prometheus
 *   POST /control                    a line of words as ragno ctl takes; control.web_write
 *
 * What: answers; it knows of the crawl only what the control socket, the database and the logs tell
 * everybody else. Whoever asks is judged (web_guard_host and the like); all changes are logged with
 * who and what.
 * Owns: its socket, its threads, the token.
 * Threads: main opens and closes it; libmicrohttpd's thread runs the rest. It is closed after the
 * desk, so that it waits for nobody.
 * Invariants: memory is bounded: WEB_CLIENTS connections, WEB_BODY_BYTES of a request's body. What
 * is shown comes from this host alone: the Content-Security-Policy allows nothing else.
 * Errors: a crawl whose page cannot be opened goes on without it; the log says why. */
#pragma once

#include "crawl/crawl_store.h"

/* Web files: the files of the status page.
 *
 * What: the files in src/crawl/web/files, byte for byte, as parts of the program.
 * Threads: any; pure. */

typedef struct WebFile {
    const char *path; /* of the URL */
    const char *type; /* MIME */
    const char *bytes;
    const char *end;
} WebFile;

/* NULL: there is no such file. */
const WebFile *web_file_find(const char *path);

/* Web token: the secret that allows the status page to change the crawl.
 *
 * What: the first line of a file that only its owner may read; a file that is missing is made, with
 * 256 random bits.
 * Threads: main.
 * Errors: error gets one sentence. */

#define WEB_TOKEN_LEAST 16u /* bytes */

/* Puts the token into out. RESULT_INVALID: others may read the file, or the token is short;
 * RESULT_IO and the like. */
Result web_token_read(const char *path, Buffer *out, Buffer *error);

#define WEB_CLIENTS    64u
#define WEB_BODY_BYTES 4096u

typedef struct Web Web;

/* *web = NULL and RESULT_OK when control.listen is empty, or when it cannot be opened. store and
 * config are borrowed. RESULT_MEMORY. */
Result web_open(Web **web, const Config *config, const CrawlStore *store);
/* NULL is allowed. */
void web_close(Web *web);

/* Web guard: who may ask the status page for what.
 *
 *   Host            names this machine: a page of another site that has its name resolved to
 *                   127.0.0.1 (DNS rebinding) sends its own name, and is refused
 *   Origin          a script of another site says where it is from, and is refused
 *   Authorization   changing anything needs "Bearer TOKEN"
 *
 * What: judges each header by itself. Headers are as they came, from anybody.
 * Threads: any; pure. */

/* Whether a Host header (with port or without) is localhost, a loopback address, or one of names,
 * which are separated by commas and blanks. The port may be any: a forwarder has its own. */
bool web_guard_host(const char *host, const char *names);
/* Whether an Origin header is of the page itself, which was asked for as host. */
bool web_guard_origin(const char *origin, const char *host);
/* Whether an Authorization header holds the token. The time it takes does not depend on how much
 * of it is right. */
bool web_guard_token(const char *authorization, const char *token);
