/* Hosts of URLs: names, and every spelling of an address. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "parse/url/url_host.h"
#include "unit.h"

#define SEED   20261128u
#define ROUNDS 3000u

/* The host as it is written, or NULL: refused. */
static const char *host_of(const char *text, size_t length)
{
    static char host[1024];
    Url url;
    url_init(&url);
    char *copy = malloc(length); /* a read behind it is seen */
    memcpy(copy, text, length);
    Result rc = url_host_append(&url, copy, length);
    free(copy);
    (void)snprintf(host, sizeof host, "%.*s", (int)url.length, rc == RESULT_OK ? url.href : "");
    url_destroy(&url);
    return rc == RESULT_OK ? host : NULL;
}

static void each_spelling_has_its_host(void)
{
    static const struct {
        const char *text;
        const char *host;
    } rows[] = {
        {"Example.ORG", "example.org"},
        {"a.org.", "a.org."},
        {"%41.o%72g", "a.org"},
        {"a%", NULL},
        {"a%4", NULL},
        {"a%00b", NULL},
        {"a%2Fb", NULL},
        {"a b", NULL},
        {"%C3%BC.de", "xn--tda.de"},
        {"\xC3\xBC.de", "xn--tda.de"},
        {"%FF", NULL},
        {"1", "0.0.0.1"},
        {"0x7f.1", "127.0.0.1"},
        {"0177.0.0.01", "127.0.0.1"},
        {"127.0.0.1.", "127.0.0.1"},
        {"1.2.3", "1.2.0.3"},
        {"4294967295", "255.255.255.255"},
        {"4294967296", NULL},
        {"99999999999999999999999", NULL},
        {"1.2.3.4.5", NULL},
        {"1.2.3.256", NULL},
        {"256.1", NULL},
        {"1.16777216", NULL},
        {"1.16777215", "1.255.255.255"},
        {"a.09", NULL},
        {"09.1", NULL},
        {"0x", "0.0.0.0"},
        {"1..2", NULL},
        {"a.0x", NULL},
        {"a.0xg", "a.0xg"},
        {"1.2.3.4x", "1.2.3.4x"},
        {"[::1]", "[::1]"},
        {"[::]", "[::]"},
        {"[1::]", "[1::]"},
        {"[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]"},
        {"[1:0:0:2:3:0:0:4]", "[1::2:3:0:0:4]"},
        {"[1:2:3:4:5:6:7:0]", "[1:2:3:4:5:6:7:0]"},
        {"[::ffff:1.2.3.4]", "[::ffff:102:304]"},
        {"[::1.2.3.04]", NULL},
        {"[ABCD::Ef]", "[abcd::ef]"},
        {"[::1", NULL},
        {"[", NULL},
        {"[]", NULL},
        {"[::1]x", NULL},
        {"[::1%25eth0]", NULL},
        {"[1:2:3:4:5:6:7:8:9]", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *host = host_of(rows[i].text, strlen(rows[i].text));
        bool same = host == NULL || rows[i].host == NULL ? host == rows[i].host
                                                         : strcmp(host, rows[i].host) == 0;
        if (!same) {
            (void)fprintf(stderr, "'%s': %s\n", rows[i].text, host == NULL ? "refused" : host);
            CU_FAIL("another host");
        }
    }
}

/* The C library reads what is written as the same address, and it is written once alike. */
static void an_address_has_one_spelling(void)
{
    Dice dice = {SEED};
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint8_t address[16];
        uint8_t again[16] = {0};
        char text[INET6_ADDRSTRLEN + 2];
        char first[64];
        for (size_t i = 0; i < sizeof address; i += 2) {
            uint64_t piece =
                dice_below(&dice, 2) == 0 ? 0 : dice_next(&dice) >> dice_below(&dice, 64);
            address[i] = (uint8_t)(piece >> 8);
            address[i + 1] = (uint8_t)piece;
        }
        char plain[INET6_ADDRSTRLEN];
        CU_ASSERT_PTR_NOT_NULL_FATAL(inet_ntop(AF_INET6, address, plain, sizeof plain));
        (void)snprintf(text, sizeof text, "[%s]", plain);
        const char *host = host_of(text, strlen(text));
        CU_ASSERT_PTR_NOT_NULL_FATAL(host);
        (void)snprintf(first, sizeof first, "%s", host);
        host = host_of(first, strlen(first));
        CU_ASSERT_TRUE(host != NULL && strcmp(host, first) == 0);
        first[strlen(first) - 1] = '\0';
        CU_ASSERT_EQUAL(inet_pton(AF_INET6, first + 1, again), 1);
        CU_ASSERT_EQUAL(memcmp(address, again, sizeof again), 0);
    }
}

/* What was accepted is accepted again and stays as it is; any bytes may come. */
static void what_is_written_is_read_as_itself(void)
{
    static const char alphabet[] = "aZ09.x%-_[]:4f2e\xC3\xBC@/ \t";
    Dice dice = {SEED + 1};
    for (unsigned round = 0; round < 10 * ROUNDS; round++) {
        char text[24];
        char first[1024];
        size_t length = 1 + dice_below(&dice, sizeof text - 1);
        for (size_t i = 0; i < length; i++) {
            text[i] = alphabet[dice_below(&dice, sizeof alphabet - 1)];
        }
        const char *host = host_of(text, length);
        if (host == NULL) {
            continue;
        }
        (void)snprintf(first, sizeof first, "%s", host);
        host = host_of(first, strlen(first));
        if (host == NULL || strcmp(host, first) != 0) {
            (void)fprintf(stderr, "seed %u: '%.*s' -> '%s' -> '%s'\n", SEED + 1, (int)length, text,
                          first, host == NULL ? "refused" : host);
            CU_FAIL("not itself");
        }
        CU_ASSERT_PTR_NULL(strpbrk(first, "@/ \t%"));
    }
}

UNIT_MAIN("url_host", {"each spelling has its host", each_spelling_has_its_host},
          {"an address has one spelling", an_address_has_one_spelling},
          {"what is written is read as itself", what_is_written_is_read_as_itself})
