/* One option: the row that describes it, and the texts that are values of it.
 *
 * What: the table of rows, and what is done with it, is in options.h.
 * Threads: pure functions.
 * Errors: RESULT_INVALID with a sentence: what was expected, and the range. */
#pragma once

#include <stdbool.h>

#include "base/memory/buffer.h"

/* A value as an INI file can hold it.
 *
 * What: whatever sets an option (a file, the environment, the command line) gets the value that a
 * file would have given, so that --print-config writes what loads again.
 * Threads: pure functions. */

/* Appends text without the blanks around it. RESULT_INVALID: a file cannot hold the text, because
 * it has control characters or a sequence that begins a comment; error is a predicate that says so
 * ("has ..."). */
Result ini_value_read(const char *text, Buffer *value, Buffer *error);
/* Whether a value must not begin with this character, because it would be trimmed or begin a
 * comment. */
bool ini_value_is_bad_start(char c);

typedef enum OptionType {
    OPTION_BOOL,  /* bool: yes no true false on off 1 0 */
    OPTION_COUNT, /* int64_t */
    OPTION_TIME,  /* int64_t milliseconds: ms s m h d; a bare number is seconds */
    OPTION_SIZE,  /* int64_t bytes: K Ki M Mi G Gi T Ti */
    OPTION_REAL,  /* double */
    OPTION_TEXT,  /* char *, owned; "" when empty */
    OPTION_WORD   /* int: place of the word in the row's words */
} OptionType;

typedef struct OptionSpec {
    const char *section;
    const char *key;
    OptionType type;
    size_t offset;        /* of the value in the struct of values */
    const char *standard; /* the default, as text */
    double least;         /* in base units; numbers only */
    double greatest;
    const char *words; /* "a|b|c" for OPTION_WORD */
    bool live;         /* may change while the crawl runs */
    bool per_site;     /* may stand in [site "pattern"] */
    const char *help;  /* one line */
    bool agreed;       /* all agents of a cluster have the same value */
    bool divided;      /* which is divided among them: one agent alone cannot change it */
    bool of_identity;  /* may stand in [identity "name"] */
} OptionSpec;

/* What a row of a table says of its option besides its value. */
enum {
    OPTION_LIVE = 1,
    OPTION_SITE = 2,
    OPTION_AGREED = 4,
    OPTION_DIVIDED = 8, /* and agreed */
    OPTION_IDENTITY = 16
};

/* A parsed value; which field counts is the type's. */
typedef struct OptionValue {
    int64_t number; /* OPTION_COUNT, OPTION_TIME, OPTION_SIZE */
    double real;
    bool flag;
    int word;
} OptionValue;

/* RESULT_INVALID: error says what was expected; OPTION_TEXT takes any. */
Result option_parse(const OptionSpec *spec, const char *text, OptionValue *value, Buffer *error);
/* Writes a parsed value to its field; of an OPTION_TEXT nothing, which its owner keeps. */
void option_store(const OptionSpec *spec, const OptionValue *value, void *field);
/* And reads it. */
OptionValue option_read(const OptionSpec *spec, const void *field);
/* Parse a time in milliseconds and a size in bytes that have no row. RESULT_INVALID. */
Result option_parse_time(const char *text, int64_t *ms);
Result option_parse_size(const char *text, int64_t *bytes);
/* Whether each of the words that stand between such bytes is a good one. RESULT_INVALID: error
 * names the first that is not, and says what. */
Result option_check_words(const char *text, const char *between,
                          bool (*is_good)(const char *word, size_t length), const char *what,
                          Buffer *error);
/* "1 to 64"; a bound that only keeps sums from overflowing is not shown. */
void option_print_bounds(const OptionSpec *spec, Buffer *out);
/* Number of single-letter edits between two words, for "did you mean". */
size_t option_distance(const char *a, const char *b);
/* Looks for the name that is spelled most like a word. */
typedef struct OptionNear {
    const char *word;
    size_t least;     /* edits to the nearest; at first the number that is too far */
    const char *name; /* the nearest; NULL: none is near */
} OptionNear;
/* Whether this name is the nearest until now. */
bool option_near_look(OptionNear *near, const char *name);
