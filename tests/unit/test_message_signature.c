#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/base64.h"
#include "fetch/identity/message_signature.h"
#include "unit.h"

/* The key of RFC 9421 B.1.4. */
static SigningKey *test_key(void)
{
    SigningKey *key = NULL;
    Buffer seed;
    const char *d = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU";
    buffer_init(&seed, SIGNING_KEY_BYTES + 1);
    CU_ASSERT_EQUAL_FATAL(base64_read(&seed, d, strlen(d), BASE64_URL), RESULT_OK);
    CU_ASSERT_EQUAL_FATAL(seed.length, SIGNING_KEY_BYTES);
    CU_ASSERT_EQUAL_FATAL(signing_key_of_seed(&key, (const uint8_t *)seed.data), RESULT_OK);
    buffer_destroy(&seed);
    return key;
}

static void names_are_those_of_the_standards(void)
{
    SigningKey *key = test_key();
    CU_ASSERT_STRING_EQUAL(signing_key_public(key), "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs");
    /* RFC 7638, as the drafts have it. */
    CU_ASSERT_STRING_EQUAL(signing_key_id(key), "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U");
    signing_key_delete(key);
}

/* RFC 9421 B.2.6. */
static void a_signature_is_the_rfcs(void)
{
    static const char base[] =
        "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n"
        "\"@authority\": example.com\n\"content-type\": application/json\n\"content-length\": 18\n"
        "\"@signature-params\": (\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" "
        "\"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";
    uint8_t signature[SIGNING_SIGNATURE_BYTES];
    Buffer text;
    SigningKey *key = test_key();
    buffer_init(&text, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(signing_key_sign(key, base, sizeof base - 1, signature), RESULT_OK);
    CU_ASSERT_EQUAL(base64_append(&text, signature, sizeof signature, BASE64_STANDARD), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(
        buffer_string(&text),
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==");
    buffer_destroy(&text);
    signing_key_delete(key);
}

static void check_lines(const SignatureTerms *terms, const char *agent, const char *input,
                        const char *signature)
{
    SigningKey *key = test_key();
    SignatureLines lines;
    signature_lines_init(&lines);
    CU_ASSERT_EQUAL(message_signature_write(key, terms, &lines), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&lines.agent), agent);
    CU_ASSERT_STRING_EQUAL(buffer_string(&lines.input), input);
    CU_ASSERT_STRING_EQUAL(buffer_string(&lines.signature), signature);
    signature_lines_destroy(&lines);
    signing_key_delete(key);
}

/* The vectors of draft-ietf-webbotauth-httpsig-protocol-00 (E.2) and of the architecture draft. */
static void lines_are_the_drafts(void)
{
    SignatureTerms terms = {.label = "sig2",
                            .agent_key = "agent2",
                            .agent = "https://signature-agent.test",
                            .authority = "example.com",
                            .authority_length = 11,
                            .created_s = 1735689600,
                            .expires_s = 4889289600,
                            .nonce =
                                "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLy"
                                "SrAWsv0hQtFioQb6E1YsauiA=="};
    check_lines(
        &terms, "Signature-Agent: agent2=\"https://signature-agent.test\"",
        "Signature-Input: sig2=(\"@authority\" \"signature-agent\";key=\"agent2\")"
        ";created=1735689600;keyid=\"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U\""
        ";alg=\"ed25519\";expires=4889289600;nonce=\"n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVj"
        "YCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==\";tag=\"web-bot-auth\"",
        "Signature: "
        "sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZAC"
        "SanGdhEwYCCg==:");
    terms.label = "sig1";
    terms.agent_key = NULL;
    terms.nonce =
        "zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2"
        "qkz5A==";
    check_lines(
        &terms, "",
        "Signature-Input: "
        "sig1=(\"@authority\");created=1735689600;keyid=\"poqkLGiymh_W0uP6PZFw-dvez"
        "3QJT5SolqXBCW38r0U\";alg=\"ed25519\";expires=4889289600;nonce=\"zIW8+cdmA3vdYagbxojpONwa/"
        "l0"
        "EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A==\";tag=\"web-bot-auth\"",
        "Signature: "
        "sig1=:QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNO"
        "ADg8aM1MqfCg==:");
}

static void a_request_is_signed_for_its_authority_and_time(void)
{
    SigningKey *key = test_key();
    Signer signer = {.key = key, .agent = "https://a.test", .valid_s = 60};
    SignatureLines first, second;
    signature_lines_init(&first);
    signature_lines_init(&second);
    const char *url = "https://user:word@h.test:8443/path?q";
    WallTime now = {.us = 1700000000 * INT64_C(1000000) + 5};
    CU_ASSERT_EQUAL(message_signature_of(&signer, url, strlen(url), now, &first), RESULT_OK);
    CU_ASSERT_EQUAL(message_signature_of(&signer, url, strlen(url), now, &second), RESULT_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&first.input), ";created=1700000000;"));
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&first.input), ";expires=1700000060;"));
    CU_ASSERT_STRING_EQUAL(buffer_string(&first.agent), "Signature-Agent: sig1=\"https://a.test\"");
    CU_ASSERT_STRING_NOT_EQUAL(buffer_string(&first.input), buffer_string(&second.input));
    CU_ASSERT_STRING_NOT_EQUAL(buffer_string(&first.signature), buffer_string(&second.signature));
    signature_lines_destroy(&first);
    signature_lines_destroy(&second);
    signing_key_delete(key);
}

static void agents_are_https_urls(void)
{
    static const char *const bad[] = {"http://a.test",    "a.test",       "https://",
                                      "https:///x",       "https://a\"b", "https://u@a.test",
                                      "https://a.test/ x"};
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(message_signature_check_agent("", &error), RESULT_OK);
    CU_ASSERT_EQUAL(message_signature_check_agent("https://a.test/keys", &error), RESULT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(message_signature_check_agent(bad[i], &error), RESULT_INVALID);
    }
    buffer_destroy(&error);
}

static void a_key_is_read_as_it_was_written(void)
{
    char path[] = "/tmp/ragno-key-XXXXXX";
    SigningKey *key = NULL;
    SigningKey *again = NULL;
    struct stat st;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    (void)close(fd);
    CU_ASSERT_EQUAL_FATAL(signing_key_generate(&key), RESULT_OK);
    CU_ASSERT_EQUAL(signing_key_write(key, path, &error), RESULT_INVALID); /* it exists */
    (void)unlink(path);
    CU_ASSERT_EQUAL(signing_key_write(key, path, &error), RESULT_OK);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0600);
    CU_ASSERT_EQUAL_FATAL(signing_key_read(&again, path, &error), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(signing_key_id(again), signing_key_id(key));
    signing_key_delete(again);
    (void)chmod(path, 0604);
    CU_ASSERT_EQUAL(signing_key_read(&again, path, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "has mode 0604"));
    (void)chmod(path, 0600);
    CU_ASSERT_EQUAL(truncate(path, 40), 0);
    CU_ASSERT_EQUAL(signing_key_read(&again, path, &error), RESULT_INVALID);
    (void)unlink(path);
    CU_ASSERT_EQUAL(signing_key_read(&again, path, &error), RESULT_NOT_FOUND);
    signing_key_delete(key);
    buffer_destroy(&error);
}

static void what_is_published_is_json(void)
{
    static const char *const addresses[] = {"192.0.2.7", "2001:db8::/64"};
    static const char *const bad[] = {"nowhere"};
    SigningKey *key = test_key();
    const SigningKey *keys[] = {key};
    Buffer out, error;
    buffer_init(&out, BUFFER_NO_LIMIT);
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(key_directory_write(keys, 1, NULL, &out), RESULT_OK);
    CU_ASSERT_STRING_EQUAL(buffer_string(&out),
                           "{\"keys\": [{\"kty\": \"OKP\", \"crv\": \"Ed25519\", \"kid\": "
                           "\"poqkLGiymh_W0uP6PZFw-dvez3QJT5So"
                           "lqXBCW38r0U\", \"x\": \"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\", "
                           "\"use\": \"sig\"}]}\n");
    buffer_reset(&out);
    CU_ASSERT_EQUAL(key_directory_write_addresses(addresses, 2, (WallTime){0}, &out, &error),
                    RESULT_OK);
    CU_ASSERT_STRING_EQUAL(
        buffer_string(&out),
        "{\"creationTime\":\"1970-01-01T00:00:00.000Z\",\"prefixes\":[{"
        "\"ipv4Prefix\":\"192.0.2.7/32\"},{\"ipv6Prefix\":\"2001:db8::/64\"}]}\n");
    CU_ASSERT_EQUAL(key_directory_write_addresses(bad, 1, (WallTime){0}, &out, &error),
                    RESULT_INVALID);
    buffer_destroy(&out);
    buffer_destroy(&error);
    signing_key_delete(key);
}

UNIT_MAIN("message_signature",
          {"names of a key are those of the standards", names_are_those_of_the_standards},
          {"a signature is the RFC's", a_signature_is_the_rfcs},
          {"lines are the drafts'", lines_are_the_drafts},
          {"a request is signed for its authority and time",
           a_request_is_signed_for_its_authority_and_time},
          {"agents are https URLs", agents_are_https_urls},
          {"a key is read as it was written", a_key_is_read_as_it_was_written},
          {"what is published is JSON", what_is_published_is_json})
