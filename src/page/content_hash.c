#include "page/content_hash.h"

ContentKind content_hash_wanted(const Config *config)
{
    switch ((ContentHashWord)config->parse_content_hash) {
    case CONTENT_HASH_BODY:
        return CONTENT_BODY;
    case CONTENT_HASH_TEXT:
        return CONTENT_TEXT;
    case CONTENT_HASH_LINKS:
        return CONTENT_LINKS;
    case CONTENT_HASH_AUTO:
        break;
    }
    return config_is_continuous(config) ? CONTENT_TEXT : CONTENT_BODY;
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
