/* Signs of a crawler trap that a URL alone shows.
 *
 * What: what follows from them (throttling a pattern that yields nothing new, parking it) is
 * decided elsewhere. Paths are as in Url.href: they begin with "/" and have no dot segments.
 * Threads: pure functions. */
#pragma once

#include "base/core/hash.h"
#include "parse/url/url.h"

/* The patterns of URLs (trap_pattern) that are parked, as fetching threads see them.
 *
 * What: an immutable set. One more pattern is a new set, which replaces the old one (shared.h):
 * ingest (src/ingest/batch/trap_yield.h) calls trap_set_with and shared_replace, fetching threads
 * call trap_set_has.
 * Owns: its patterns.
 * Threads: immutable once made.
 * Errors: RESULT_MEMORY. */

typedef struct TrapSet TrapSet;

/* A new set with the patterns of set (NULL: none) and one more, given by its key
 * (trap_pattern_key). NULL when memory is short. */
TrapSet *trap_set_with(const TrapSet *set, Hash128 pattern);
size_t trap_set_count(const TrapSet *set);
/* Whether the URL's pattern is among them; set may be NULL. text is scratch. */
bool trap_set_has(const TrapSet *set, const Url *url, Buffer *text);
void trap_set_delete(void *set);

#define TRAP_MAX_SEGMENTS     1024u /* what lies deeper is not looked at */
#define TRAP_LEAST_IDENTIFIER 8     /* bytes */

/* Whether some sequence of path segments is there times times in a row ("/a/b/a/b/a/b": three times
 * "a/b"), the mark of a relative link that should have been absolute. times is at least 2. The
 * empty segment behind a trailing slash does not count. BUbiNG's DuplicateSegmentsLessThan is its
 * negation. */
bool trap_repeats(const char *path, size_t length, unsigned times);

/* The number of segments that are not empty. */
unsigned trap_path_depth(const char *path, size_t length);

/* How many parameters a query has ("a=1&b" has 2); query is without the "?". */
unsigned trap_parameters(const char *query, size_t length);

/* Appends the pattern a URL belongs to: everything that a generator of endless URLs would vary is
 * generalised, so that all its URLs share one key.
 *   - a run of digits becomes "0", an identifier (trap_identifier) "x";
 *   - every parameter of the query is its name, so generalised, followed by "="; names are sorted
 *     and each is named once.
 * "http://h/shop/item-47/a.html?sid=9f86&page=3&page=4" ->
 * "http://h/shop/item-0/a.html?page=&sid=". The authority stays. Errors as buffer_append; out is as
 * before then. */
Result trap_pattern(const Url *url, Buffer *out);

/* The key that stands for a URL's pattern, by which it is kept and looked for; text, emptied
 * before, gets the pattern. Errors as buffer_append. */
Result trap_pattern_key(const Url *url, Buffer *text, Hash128 *key);

/* The length of the identifier at p, or 0: a UUID, or a whole word (letters and digits) of eight or
 * more hexadecimal digits, both kinds among them, or of sixteen or more letters and digits that
 * take turns, as those of a session do. The text is start..end; p may be at any place of it. Linear
 * in the length of the word. */
size_t trap_identifier(const char *start, const char *p, const char *end);
