#include "rules/config_check.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

typedef Result Check(const char *text, Buffer *error);

static void look(Check *check, const char *const *texts, size_t n, Result expected)
{
    Buffer error;
    buffer_init(&error, 4096);
    for (size_t i = 0; i < n; i++) {
        buffer_reset(&error);
        Result rc = check(texts[i], &error);
        if (rc != expected || (rc != RESULT_OK && error.length < 10)) {
            (void)fprintf(stderr, "'%s': %s '%s'\n", texts[i], result_name(rc),
                          error.length == 0 ? "" : buffer_string(&error));
            CU_FAIL("another answer was expected");
        }
    }
    buffer_destroy(&error);
}

#define LOOK(check, expected, ...)                                                                 \
    do {                                                                                           \
        static const char *const texts[] = {__VA_ARGS__};                                          \
        look(check, texts, sizeof texts / sizeof *texts, expected);                                \
    } while (0)

static void a_contact_is_a_url_or_a_mail_address(void)
{
    LOOK(config_texts_contact, RESULT_OK, "", "https://example.org/bot", "http://[::1]/",
         "bot@example.org", "mailto:bot@example.org");
    LOOK(config_texts_contact, RESULT_INVALID, "hello", "ftp://example.org/", "@example.org",
         "bot@localhost", "bot @example.org", "example.org");
}

static void an_agent_is_a_product_token(void)
{
    LOOK(config_texts_agent, RESULT_OK, "ragno", "my-bot_2");
    LOOK(config_texts_agent, RESULT_INVALID, "", "my bot", "ragno/1.0", "r\xc3\xa4gno", "*");
}

static void servers_are_addresses(void)
{
    LOOK(config_texts_servers, RESULT_OK, "", "127.0.0.1", "127.0.0.1:5353, [::1]:53,2001:db8::1",
         " [::1] ");
    LOOK(config_texts_servers, RESULT_INVALID, "localhost", "dns.example.org:53", "127.0.0.1:0",
         "127.0.0.1:70000", "[::1", "[::1]x", "127.0.0.1:", "1.2.3.4 ns.example.org");
}

UNIT_MAIN("config_texts",
          {"a contact is a URL or a mail address", a_contact_is_a_url_or_a_mail_address},
          {"an agent is a product token", an_agent_is_a_product_token},
          {"servers are addresses", servers_are_addresses})
