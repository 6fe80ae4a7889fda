/* What of a page counts as its content: a difference means that the page has changed.
 *
 * What: `body` is every byte of the decoded body. `text` is BUbiNG's simplified page
 * (parse/text/digest.h): tags and text without attributes, digits and white space, so that a
 * counter, a date or a token in a form makes no page look changed. `links` is what the page links
 * to, as far as the crawl follows it. What has no text or no links (a picture, a text that is not
 * HTML) counts by its body. Change rates, and with them revisits, follow from it; with
 * parse.duplicates = content duplicates do, too. The digests of the archive are always those of the
 * payload.
 *
 * The kind stands in the flags of the page's record (PageRef.flags): a page that was hashed
 * otherwise at its visit before is not taken for changed. Pure. */
#ifndef PAGE_CONTENT_HASH_H
#define PAGE_CONTENT_HASH_H

#include <stdint.h>

#include "page/parsed_page.h"
#include "rules/config.h"

/* parse.content_hash: `text` in a crawl that visits pages again, else `body`, unless it says. */
ContentKind content_hash_wanted(const Config *config);

/* The content of a page by any kind, whatever the crawl's is; 0,0 when it has none. */
void content_hash_of(const ParsedPage *page, ContentKind kind, uint64_t hash[2]);

/* The kind as bits of PageRef.flags, which may hold others. */
#define CONTENT_HASH_FLAGS 0x06u
static inline uint8_t content_hash_flags(ContentKind kind)
{
    return (uint8_t)((unsigned)kind << 1 & CONTENT_HASH_FLAGS);
}
static inline ContentKind content_hash_kind(uint8_t flags)
{
    return (ContentKind)((flags & CONTENT_HASH_FLAGS) >> 1);
}

/* The usages that the site denies (USAGE_..., parse/usage/usage.h), beside them. */
#define USAGE_FLAGS_SHIFT 3u
static inline uint8_t usage_flags(unsigned denied)
{
    return (uint8_t)(denied << USAGE_FLAGS_SHIFT);
}
static inline unsigned usage_of_flags(uint8_t flags)
{
    return (unsigned)flags >> USAGE_FLAGS_SHIFT;
}

#endif
