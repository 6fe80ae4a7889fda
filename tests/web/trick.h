/* The answers of misbehaving hosts, one function each; what each does stands in the table of
 * misbehaviour.c. Pure but for the visit count they are given; any thread. */
#ifndef TESTS_WEB_TRICK_H
#define TESTS_WEB_TRICK_H

#include "base/core/result.h"
#include "options.h"
#include "reply.h"

/* Large constant bodies, made once. */
typedef struct TrickKit {
    char *block;        /* owned: KIT_BLOCK_BYTES of lines starting with '#', harmless anywhere */
    char *noise;        /* owned: KIT_BLOCK_BYTES of bytes of all values */
    char *zeros;        /* owned: a deflate stream of KIT_ZEROS_BYTES zero bytes, not final */
    size_t zeros_bytes; /* its length */
} TrickKit;

#define KIT_BLOCK_BYTES ((size_t)64 * 1024)
#define KIT_ZEROS_BYTES ((size_t)16 * 1024 * 1024)

typedef struct TrickCall {
    const WebOptions *options;
    const TrickKit *kit;
    const char *host; /* as asked for; not NUL-terminated */
    int host_length;
    const char *path; /* not NUL-terminated */
    int path_length;
    unsigned visit; /* how many requests hosts of this row had before this one */
} TrickCall;

/* RESULT_MEMORY. */
Result trick_kit_init(TrickKit *kit);
void trick_kit_destroy(TrickKit *kit);

void trick_always_503(const TrickCall *call, Reply *reply);
void trick_bad_ports(const TrickCall *call, Reply *reply);
void trick_bad_length(const TrickCall *call, Reply *reply);
void trick_binary_html(const TrickCall *call, Reply *reply);
void trick_busy_429(const TrickCall *call, Reply *reply);
void trick_busy_503(const TrickCall *call, Reply *reply);
void trick_calendar(const TrickCall *call, Reply *reply);
void trick_chunked_garbage(const TrickCall *call, Reply *reply);
void trick_close_after_one(const TrickCall *call, Reply *reply);
void trick_close_at_once(const TrickCall *call, Reply *reply);
void trick_credentials(const TrickCall *call, Reply *reply);
void trick_deeper(const TrickCall *call, Reply *reply);
void trick_dripping(const TrickCall *call, Reply *reply);
void trick_empty(const TrickCall *call, Reply *reply);
void trick_endless_body(const TrickCall *call, Reply *reply);
void trick_endless_chunks(const TrickCall *call, Reply *reply);
void trick_endless_header(const TrickCall *call, Reply *reply);
void trick_escape_header(const TrickCall *call, Reply *reply);
void trick_etag_star(const TrickCall *call, Reply *reply);
void trick_gone_later(const TrickCall *call, Reply *reply);
void trick_gzip_bomb(const TrickCall *call, Reply *reply);
void trick_gzip_broken(const TrickCall *call, Reply *reply);
void trick_gzip_lie(const TrickCall *call, Reply *reply);
void trick_gzip_short(const TrickCall *call, Reply *reply);
void trick_hang(const TrickCall *call, Reply *reply);
void trick_header_nul(const TrickCall *call, Reply *reply);
void trick_http09(const TrickCall *call, Reply *reply);
void trick_huge_header(const TrickCall *call, Reply *reply);
void trick_interim_storm(const TrickCall *call, Reply *reply);
void trick_long_urls(const TrickCall *call, Reply *reply);
void trick_many_headers(const TrickCall *call, Reply *reply);
void trick_many_links(const TrickCall *call, Reply *reply);
void trick_moved_later(const TrickCall *call, Reply *reply);
void trick_no_length(const TrickCall *call, Reply *reply);
void trick_nul_bytes(const TrickCall *call, Reply *reply);
void trick_redirect_chain(const TrickCall *call, Reply *reply);
void trick_redirect_garbage(const TrickCall *call, Reply *reply);
void trick_redirect_loop(const TrickCall *call, Reply *reply);
void trick_redirect_nowhere(const TrickCall *call, Reply *reply);
void trick_redirect_pair(const TrickCall *call, Reply *reply);
void trick_redirect_private(const TrickCall *call, Reply *reply);
void trick_redirect_scheme(const TrickCall *call, Reply *reply);
void trick_reset_at_once(const TrickCall *call, Reply *reply);
void trick_reset_mid_body(const TrickCall *call, Reply *reply);
void trick_retry_past(const TrickCall *call, Reply *reply);
void trick_retry_year(const TrickCall *call, Reply *reply);
void trick_retry_zero(const TrickCall *call, Reply *reply);
void trick_robots_403(const TrickCall *call, Reply *reply);
void trick_robots_500(const TrickCall *call, Reply *reply);
void trick_robots_br(const TrickCall *call, Reply *reply);
void trick_robots_costly(const TrickCall *call, Reply *reply);
void trick_robots_deflate(const TrickCall *call, Reply *reply);
void trick_robots_gzip(const TrickCall *call, Reply *reply);
void trick_robots_gzip_bomb(const TrickCall *call, Reply *reply);
void trick_robots_gzip_broken(const TrickCall *call, Reply *reply);
void trick_robots_zstd(const TrickCall *call, Reply *reply);
void trick_second_answer(const TrickCall *call, Reply *reply);
void trick_session(const TrickCall *call, Reply *reply);
void trick_server_errors(const TrickCall *call, Reply *reply);
void trick_server_recovers(const TrickCall *call, Reply *reply);
void trick_short_length(const TrickCall *call, Reply *reply);
void trick_silent(const TrickCall *call, Reply *reply);
void trick_sitemap_blanks(const TrickCall *call, Reply *reply);
void trick_slow_body(const TrickCall *call, Reply *reply);
void trick_slow_drip(const TrickCall *call, Reply *reply);
void trick_slow_first(const TrickCall *call, Reply *reply);
void trick_slow_header(const TrickCall *call, Reply *reply);
void trick_soft_404(const TrickCall *call, Reply *reply);
void trick_stalls(const TrickCall *call, Reply *reply);
void trick_stays_open(const TrickCall *call, Reply *reply);
void trick_status_999(const TrickCall *call, Reply *reply);
void trick_truncated(const TrickCall *call, Reply *reply);
void trick_truncated_chunks(const TrickCall *call, Reply *reply);
void trick_two_codings(const TrickCall *call, Reply *reply);
void trick_two_lengths(const TrickCall *call, Reply *reply);

#endif
