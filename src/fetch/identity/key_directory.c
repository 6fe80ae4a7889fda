#include "fetch/identity/key_directory.h"

#include <string.h>

#include "parse/host/ip_address.h"

Result key_directory_write(const SigningKey *const *keys, size_t n, Buffer *out)
{
    Result rc = buffer_append_string(out, "{\"keys\":[");
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        rc = buffer_printf(out,
                           "%s{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"%s\",\"x\":\"%s\","
                           "\"use\":\"sig\"}",
                           i == 0 ? "" : ",", signing_key_id(keys[i]), signing_key_public(keys[i]));
    }
    return rc == RESULT_OK ? buffer_append_string(out, "]}\n") : rc;
}

Result key_directory_write_addresses(const char *const *addresses, size_t n, WallTime now,
                                     Buffer *out, Buffer *error)
{
    char time[CLOCK_TEXT_BYTES];
    Result rc =
        buffer_printf(out, "{\"creationTime\":\"%s\",\"prefixes\":[", wall_format_iso(now, time));
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        IpRange range;
        if (ip_range_parse(addresses[i], strlen(addresses[i]), &range) != RESULT_OK) {
            (void)buffer_printf(error, "'%s' is not an address or prefix such as 192.0.2.0/28",
                                addresses[i]);
            return RESULT_INVALID;
        }
        char text[IP_ADDRESS_TEXT_BYTES];
        rc = buffer_printf(out, "%s{\"%s\":\"%s/%u\"}", i == 0 ? "" : ",",
                           range.first.v6 ? "ipv6Prefix" : "ipv4Prefix",
                           ip_address_format(&range.first, text),
                           range.first.v6 ? range.prefix : range.prefix - 96);
    }
    return rc == RESULT_OK ? buffer_append_string(out, "]}\n") : rc;
}
