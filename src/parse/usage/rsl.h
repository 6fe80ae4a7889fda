/* RSL: what a licence file says about the use of a site's pages.
 *
 * What: an XML file (or a feed) with elements of RSL's namespace, or of none:
 *
 *   <rsl xmlns="https://rslstandard.org/rsl">
 *     <content url="/news/" server="https://licences.example">
 *       <license>
 *         <permits type="usage">search ai-input</permits>
 *         <prohibits type="usage">ai-train</prohibits>
 *         <payment type="crawl"><amount currency="USD">0.01</amount></payment>
 *
 * Each content element is one statement about the pages that its url matches, a path as in
 * robots.txt or the same behind the site's own scheme and host. It has licences, and whoever takes
 * one of them may do what that one leaves open:
 *
 *  1. Without permits of type usage everything is open, else what these list; never what prohibits
 *     list. Tokens are all, ai-all, ai-train, ai-input, ai-index, search, and those of the drafts.
 *     ai-train includes images; ai-index is no usage of ours: to prohibit it denies ai-input,
 * unless that is permitted by its name.
 *  2. Nothing is open for those who do not fulfil its conditions: a payment of another type than
 *     free, a server or an encryption (a token is needed), reports that are wanted, a user type
 * that is not ours or, when we have none, any, and a country. Such offers are told in the words of
 *     the statement and not taken. A payment without a type means free by the standard; here it is
 *     one of another type, since what is in it may ask for money all the same.
 *
 * What no licence leaves open is denied, and what an open one permits by its name is allowed.
 * Content without licences says nothing, unless it has a server; content of other hosts is passed
 * over; a url that cannot be read may mean any page, and allows nothing.
 *
 * Owns: nothing.
 * Threads: pure functions.
 * Source: rslstandard.org, RSL 1.0. Read were the beginnings of the drafts of 10 July and 16
 * September 2025 (tables of elements, attributes of content) and of the Recommendation RSL-SPEC-1.0
 * (its status and abstract); of the Recommendation's sections 3.1.1, 3.3 to 3.7 and 3.12, with
 * errata to August 2026, only what others say of them, with the numbers of the sections. Where
 * these leave something open, less is allowed. */
#pragma once

#include "parse/usage/usage.h"

/* clang-format off */
#define RSL_USER_WORDS(WORD) \
    WORD(RSL_USER_UNKNOWN, "unknown") \
    WORD(RSL_USER_COMMERCIAL, "commercial") \
    WORD(RSL_USER_NON_COMMERCIAL, "non-commercial") \
    WORD(RSL_USER_EDUCATION, "education") \
    WORD(RSL_USER_GOVERNMENT, "government") \
    WORD(RSL_USER_PERSONAL, "personal")
/* clang-format on */
typedef enum RslUser { WORDS_ENUM(RSL_USER_WORDS) } RslUser;

#define RSL_WORDS_BYTES 480u /* of a statement: its elements, shortened */

/* Who asks. */
typedef struct RslReader {
    const char *origin; /* "https://www.example.org": whose licence it is */
    RslUser user;
} RslReader;

/* path: a pattern as in robots.txt. Anything but RESULT_OK ends the reading, and is returned. */
typedef Result RslSink(void *context, const char *path, size_t length,
                       const UsageStatement *statement);

/* RESULT_INVALID: it is no such file, or breaks off, or declares entities; what the sink was told
 * before is not all. RESULT_MEMORY. */
Result rsl_read(const char *text, size_t length, const RslReader *reader, RslSink *sink,
                void *context);
