#include "robots_txt.h"

#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"

typedef enum RobotsStyle {
    STYLE_ALLOW,    /* an empty Disallow */
    STYLE_MISSING,  /* 404 */
    STYLE_DENIED,   /* 403, which allows everything */
    STYLE_PLAIN,    /* Disallow: /private/ */
    STYLE_OWN,      /* a group for ragno, and another one that forbids everything */
    STYLE_BIG,      /* 256 KiB of comments, then the rule */
    STYLE_WILDCARD, /* with * and a more specific Allow elsewhere */
    STYLE_ODD       /* BOM, CR LF, capitals, spaces, unknown lines */
} RobotsStyle;

static RobotsStyle style_of(const WebOptions *options, uint32_t host)
{
    static const RobotsStyle mix[16] = {STYLE_ALLOW, STYLE_ALLOW,   STYLE_ALLOW,    STYLE_ALLOW,
                                        STYLE_ALLOW, STYLE_MISSING, STYLE_MISSING,  STYLE_DENIED,
                                        STYLE_PLAIN, STYLE_PLAIN,   STYLE_PLAIN,    STYLE_OWN,
                                        STYLE_OWN,   STYLE_BIG,     STYLE_WILDCARD, STYLE_ODD};
    return mix[hash_mix(options->seed * 31 + host) & 15];
}

bool robots_txt_forbids_private(const WebOptions *options, uint32_t host)
{
    return style_of(options, host) >= STYLE_PLAIN;
}

bool robots_txt_forbids(const WebOptions *options, uint32_t host, const char *path, size_t length)
{
    static const char private[] = "/private/";
    return length >= sizeof private - 1 && memcmp(path, private, sizeof private - 1) == 0 &&
           robots_txt_forbids_private(options, host);
}

unsigned robots_txt_crawl_delay_ms(const WebOptions *options, uint32_t host)
{
    RobotsStyle style = style_of(options, host);
    bool has_file = style != STYLE_MISSING && style != STYLE_DENIED;
    return has_file && host % 4 == 1 ? (unsigned)(options->crawl_delay_s * 1000) : 0;
}

void robots_txt_reply(const WebOptions *options, const TrickKit *kit, uint32_t host,
                      const char *name, Reply *reply)
{
    unsigned delay = robots_txt_crawl_delay_ms(options, host);
    char delay_line[64] = "";
    if (delay > 0 && host % 8 == 5) {
        (void)snprintf(delay_line, sizeof delay_line, "Request-rate: 1000/%us\n", delay);
    } else if (delay > 0) {
        (void)snprintf(delay_line, sizeof delay_line, "Crawl-delay: %g\n", delay / 1000.0);
    }
    switch (style_of(options, host)) {
    case STYLE_MISSING:
        reply_finish_status(reply, 404, "");
        return;
    case STYLE_DENIED:
        reply_finish_status(reply, 403, "");
        return;
    case STYLE_ALLOW:
        reply_printf(reply, "User-agent: *\n%sDisallow:\n", delay_line);
        break;
    case STYLE_PLAIN:
        reply_printf(reply, "User-agent: *\n%sDisallow: /private/\n", delay_line);
        break;
    case STYLE_OWN:
        reply_printf(reply,
                     "User-agent: *\nDisallow: /\n\nUser-agent: otherbot\nUser-agent: Ragno\n"
                     "%sDisallow: /private/\n",
                     delay_line);
        break;
    case STYLE_BIG:
        for (int i = 0; i < 4; i++) {
            reply_append_static(reply, kit->block, KIT_BLOCK_BYTES);
        }
        reply_printf(reply, "User-agent: *\n%sDisallow: /private/\n", delay_line);
        break;
    case STYLE_WILDCARD:
        reply_printf(reply, "User-agent: *\n%sDisallow: /priv*te/\nAllow: /p$\nAllow: /*/open\n",
                     delay_line);
        break;
    case STYLE_ODD:
        reply_printf(reply,
                     "\xEF\xBB\xBFnonsense\r\n# comment\r\nUSER-AGENT : *  # all\r\n%s"
                     "Noindex: /\r\ndisallow:/private/ \r\n",
                     delay_line);
        break;
    }
    if (options->sitemaps) {
        reply_printf(reply, "\nSitemap: %s://%s/sitemap.xml\n", options_scheme(options), name);
    }
    reply_finish(reply, 200, "text/plain", "");
}
