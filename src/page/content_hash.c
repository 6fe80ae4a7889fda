#include "page/content_hash.h"

/* Words of parse.content_hash, in the order of its row. */
enum { WORD_AUTO, WORD_BODY, WORD_TEXT, WORD_LINKS };

ContentKind content_hash_wanted(const Config *config)
{
    switch (config->parse_content_hash) {
    case WORD_BODY:
        return CONTENT_BODY;
    case WORD_TEXT:
        return CONTENT_TEXT;
    case WORD_LINKS:
        return CONTENT_LINKS;
    default:
        return config->schedule_mode != 0 ? CONTENT_TEXT : CONTENT_BODY;
    }
}

void content_hash_of(const ParsedPage *page, ContentKind kind, uint64_t hash[2])
{
    bool has_text = (page->text_digest[0] | page->text_digest[1]) != 0;
    if (kind == CONTENT_TEXT && has_text) {
        hash[0] = page->text_digest[0];
        hash[1] = page->text_digest[1];
    } else if (kind == CONTENT_LINKS && page->n_links > 0) {
        hash[0] = page->links_hash;
        hash[1] = hash_mix(page->links_hash + UINT64_C(1));
    } else {
        hash[0] = page->body_hash[0];
        hash[1] = page->body_hash[1];
    }
}
