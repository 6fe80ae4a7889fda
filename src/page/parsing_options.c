#include "page/parsing_options.h"

#include "parse/html/html.h"

ParsingOptions parsing_options(const Config *config)
{
    unsigned refused_flags = (config->scope_follow_nofollow ? 0u : LINK_NOFOLLOW) |
                             (config->scope_follow_ugc ? 0u : LINK_UGC) |
                             (config->scope_follow_sponsored ? 0u : LINK_SPONSORED);
    ContentKind content = content_hash_wanted(config);
    return (ParsingOptions){.threads = config_threads(config->parse_threads),
                            .queue = (size_t)config->parse_queue,
                            .max_body_bytes = (size_t)config->fetch_max_body,
                            .max_sitemap_bytes = (size_t)config->fetch_max_sitemap,
                            .max_ratio = (unsigned)config->fetch_max_ratio,
                            .max_page_bytes = (size_t)config->parse_max_bytes,
                            .max_links = (size_t)config->parse_max_links,
                            .max_external = (size_t)config->parse_external_links,
                            .use_libxml2 = config->parse_html_parser != 0,
                            .max_url_length = (size_t)config->scope_max_url_length,
                            .memory_bytes = (size_t)config->parse_memory,
                            .robots_agent = config->robots_agent,
                            .forms = config->parse_forms,
                            .embeds = config->scope_embeds,
                            .refused_flags = refused_flags,
                            .path_segments = (unsigned)config->limits_path_segments,
                            .repeated_segments = (unsigned)config->limits_repeated_segments,
                            .query_parameters = (unsigned)config->limits_query_parameters,
                            .content = content,
                            .link_text = (size_t)config->parse_link_text,
                            .question = page_question_wanted(config),
                            .question_bytes = (size_t)config->score_command_text,
                            .digests = config->parse_near_duplicates != 0 ||
                                       config->warc_metadata || content == CONTENT_TEXT,
                            .traps = config->limits_trap_fetches > 0,
                            .sitemaps = config->scope_sitemaps,
                            .sitemap_only = config->scope_sitemap_only,
                            .sitemap_hints = config->score_sitemap_hints,
                            .sitemap_depth = (unsigned)config->scope_sitemap_depth,
                            .sitemap_entries = (size_t)config->scope_sitemap_entries,
                            .sitemap_location = (SitemapLocation)config->scope_sitemap_location};
}
