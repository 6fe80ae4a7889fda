#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/transport/transport_kv.h"
#include "cluster/transport/transport_login.h"
#include "unit.h"

/* Answers as nats-server 2.9.10 gives them. */
#define SEEN                                                                                       \
    "{\"type\":\"io.nats.jetstream.api.v1.stream_msg_get_response\",\"message\":{\"subject\":"     \
    "\"$KV.ragno_c.table\",\"seq\":17,\"data\":\"aGVsbG8=\",\"time\":\"2026-11-22T16:00:00Z\"}}"
#define NO_MESSAGE_TEXT                                                                            \
    "{\"type\":\"x\",\"error\":{\"code\":404,\"err_code\":10037,\"description\":\"no message "     \
    "found\"}}"
#define NO_STREAM_TEXT                                                                             \
    "{\"type\":\"x\",\"error\":{\"code\":404,\"err_code\":10059,\"description\":\"stream not "     \
    "found\"}}"
#define WRONG_TEXT                                                                                 \
    "{\"error\":{\"code\":400,\"err_code\":10071,\"description\":\"wrong last sequence: 5\"},"     \
    "\"stream\":\"KV_ragno_c\",\"seq\":0}"

static void a_look_finds_a_value_or_none(void)
{
    Buffer value;
    buffer_init(&value, BUFFER_NO_LIMIT);
    KvAnswer answer = kv_read(SEEN, &value);
    CU_ASSERT_EQUAL(answer.kind, KV_VALUE);
    CU_ASSERT_EQUAL(answer.revision, 17);
    CU_ASSERT_STRING_EQUAL(buffer_string(&value), "hello");
    KvAnswer none = kv_read(NO_MESSAGE_TEXT, &value);
    CU_ASSERT_TRUE(none.kind == KV_VALUE && none.revision == 0);
    CU_ASSERT_EQUAL(kv_read(NO_STREAM_TEXT, &value).kind, KV_NO_BUCKET);
    CU_ASSERT_EQUAL(value.length, 5);
    buffer_destroy(&value);
}

static void an_empty_value_is_a_value(void)
{
    Buffer value;
    buffer_init(&value, BUFFER_NO_LIMIT);
    KvAnswer answer = kv_read("{\"message\":{\"subject\":\"$KV.ragno_c.end\",\"seq\":3}}", &value);
    CU_ASSERT_TRUE(answer.kind == KV_VALUE && answer.revision == 3 && value.length == 0);
    buffer_destroy(&value);
}

static void what_is_not_understood_is_a_failure_with_words(void)
{
    Buffer value;
    buffer_init(&value, BUFFER_NO_LIMIT);
    static const char *const texts[] = {"",
                                        "{}",
                                        "nonsense",
                                        "{\"message\":{}}",
                                        "{\"message\":{\"seq\":4,\"data\":\"***\"}}",
                                        "{\"message\":{\"seq\":4,\"data\":\"aGVs"};
    for (size_t i = 0; i + 1 < sizeof texts / sizeof *texts; i++) {
        KvAnswer answer = kv_read(texts[i], &value);
        CU_ASSERT_TRUE(answer.kind == KV_FAILED && answer.text[0] != '\0');
    }
    KvAnswer off = kv_read("{\"error\":{\"code\":503,\"err_code\":10039,\"description\":"
                           "\"JetStream not enabled for account\"}}",
                           &value);
    CU_ASSERT_STRING_EQUAL(off.text, "JetStream not enabled for account");
    buffer_destroy(&value);
}

static void a_put_is_stored_or_conflicts(void)
{
    Buffer value = {.limit = BUFFER_NO_LIMIT};
    KvAnswer stored = kv_read("{\"stream\":\"KV_ragno_c\", \"seq\":23}", &value);
    CU_ASSERT_TRUE(stored.kind == KV_STORED && stored.revision == 23);
    CU_ASSERT_EQUAL(kv_read(WRONG_TEXT, &value).kind, KV_CONFLICT);
    CU_ASSERT_EQUAL(kv_read("{\"type\":\"x\",\"config\":{}}", &value).kind, KV_MADE);
    CU_ASSERT_EQUAL(
        kv_read("{\"error\":{\"code\":400,\"err_code\":10058,\"description\":\"\"}}", &value).kind,
        KV_MADE);
    CU_ASSERT_EQUAL(value.length, 0);
}

static void keys_and_subjects(void)
{
    char subject[KV_SUBJECT_BYTES];
    kv_subject_of_key("c", "agent.3", subject);
    CU_ASSERT_STRING_EQUAL(subject, "$KV.ragno_c.agent.3");
    CU_ASSERT_STRING_EQUAL(kv_key_of_subject("c", subject), "agent.3");
    CU_ASSERT_PTR_NULL(kv_key_of_subject("d", subject));
}

/* ---- who we are ---- */

static Result login_of(const char *text, mode_t mode, Login *login, Buffer *error)
{
    char path[] = "/tmp/ragno-login-XXXXXX";
    int fd = mkstemp(path);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    CU_ASSERT_EQUAL(fchmod(fd, mode), 0);
    (void)close(fd);
    Result rc = login_read(login, path, error);
    (void)unlink(path);
    return rc;
}

static void logins_are_read(void)
{
    Login login;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    CU_ASSERT_EQUAL(login_of("user me a-word\n", 0600, &login, &error), RESULT_OK);
    CU_ASSERT_TRUE(login.kind == LOGIN_USER && strcmp(login.second, "a-word") == 0);
    CU_ASSERT_EQUAL(login_of("token abc\n", 0400, &login, &error), RESULT_OK);
    CU_ASSERT_TRUE(login.kind == LOGIN_TOKEN && strcmp(login.first, "abc") == 0);
    CU_ASSERT_EQUAL(login_of("nkey UABC\nSUABC\n", 0600, &login, &error), RESULT_OK);
    CU_ASSERT_TRUE(login.kind == LOGIN_NKEY && strcmp(login.first, "UABC") == 0);
    CU_ASSERT_EQUAL(login_of("-----BEGIN NATS USER JWT-----\n", 0600, &login, &error), RESULT_OK);
    CU_ASSERT_EQUAL(login.kind, LOGIN_FILE);
    CU_ASSERT_EQUAL(error.length, 0);
    login_destroy(&login);
    CU_ASSERT_EQUAL(login.first[0], '\0');
    buffer_destroy(&error);
}

static void wrong_logins_are_refused_without_their_secrets(void)
{
    Login login;
    Buffer error;
    buffer_init(&error, BUFFER_NO_LIMIT);
    static const char *const texts[] = {"", "user me\n", "hunter2\n", "token\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CU_ASSERT_EQUAL(login_of(texts[i], 0600, &login, &error), RESULT_INVALID);
    }
    CU_ASSERT_PTR_NULL(strstr(buffer_string(&error), "hunter2"));
    buffer_reset(&error);
    CU_ASSERT_EQUAL(login_of("token abc\n", 0640, &login, &error), RESULT_INVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(buffer_string(&error), "chmod 600"));
    CU_ASSERT_EQUAL(login_read(&login, "/nonexistent/file", &error), RESULT_IO);
    CU_ASSERT_EQUAL(login_read(&login, "", &error), RESULT_OK);
    CU_ASSERT_EQUAL(login.kind, LOGIN_NONE);
    buffer_destroy(&error);
}

UNIT_MAIN("transport_kv", {"a look finds a value or none", a_look_finds_a_value_or_none},
          {"an empty value is a value", an_empty_value_is_a_value},
          {"what is not understood is a failure with words",
           what_is_not_understood_is_a_failure_with_words},
          {"a put is stored or conflicts", a_put_is_stored_or_conflicts},
          {"keys and subjects", keys_and_subjects}, {"logins are read", logins_are_read},
          {"wrong logins are refused without their secrets",
           wrong_logins_are_refused_without_their_secrets})
