#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/transport/transport_login.h"
#include "cluster/transport/transport_nats.h"
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

/* The event that comes of an answer; it is the caller's, and deleted with the next one. */
static const TransportEvent *event_of(const char *text)
{
    static TransportEvent *event;
    bool missing = false;
    transport_event_delete(event);
    event = transport_nats_stored(text, 7, &missing);
    CU_ASSERT_EQUAL(missing, strcmp(text, NO_STREAM_TEXT) == 0);
    CU_ASSERT_TRUE(event == NULL || event->token == 7);
    return event;
}

static void a_look_finds_a_value_or_none(void)
{
    const TransportEvent *event = event_of(SEEN);
    CU_ASSERT_EQUAL(event->kind, TRANSPORT_VALUE);
    CU_ASSERT_EQUAL(event->revision, 17);
    CU_ASSERT_EQUAL(event->length, 5);
    CU_ASSERT_STRING_EQUAL(event->bytes, "hello");
    event = event_of(NO_MESSAGE_TEXT);
    CU_ASSERT_TRUE(event->kind == TRANSPORT_VALUE && event->revision == 0 && event->length == 0);
    event = event_of(NO_STREAM_TEXT);
    CU_ASSERT_TRUE(event->kind == TRANSPORT_FAILED && event->text == NULL);
    CU_ASSERT_PTR_NULL(event_of("{\"type\":\"x\",\"config\":{}}"));
}

static void an_empty_value_is_a_value(void)
{
    const TransportEvent *event =
        event_of("{\"message\":{\"subject\":\"$KV.ragno_c.end\",\"seq\":3}}");
    CU_ASSERT_TRUE(event->kind == TRANSPORT_VALUE && event->revision == 3 && event->length == 0);
    CU_ASSERT_STRING_EQUAL(event->bytes, "");
    CU_ASSERT_PTR_NULL(event_of("{\"type\":\"x\",\"config\":{}}"));
}

static void what_is_not_understood_is_a_failure_with_words(void)
{
    static const char *const texts[] = {"",
                                        "{}",
                                        "nonsense",
                                        "{\"message\":{}}",
                                        "{\"message\":{\"seq\":4,\"data\":\"***\"}}",
                                        "{\"message\":{\"seq\":4,\"data\":\"aGVs"};
    for (size_t i = 0; i + 1 < sizeof texts / sizeof *texts; i++) {
        const TransportEvent *event = event_of(texts[i]);
        CU_ASSERT_TRUE(event->kind == TRANSPORT_FAILED && event->text[0] != '\0');
    }
    CU_ASSERT_STRING_EQUAL(event_of("{\"error\":{\"code\":503,\"err_code\":10039,\"description\":"
                                    "\"JetStream not enabled for account\"}}")
                               ->text,
                           "JetStream not enabled for account");
    CU_ASSERT_PTR_NULL(event_of("{\"type\":\"x\",\"config\":{}}"));
}

static void a_put_is_stored_or_conflicts(void)
{
    const TransportEvent *event = event_of("{\"stream\":\"KV_ragno_c\", \"seq\":23}");
    CU_ASSERT_TRUE(event->kind == TRANSPORT_STORED && event->revision == 23);
    CU_ASSERT_EQUAL(event->length, 0);
    CU_ASSERT_EQUAL(event_of(WRONG_TEXT)->kind, TRANSPORT_CONFLICT);
    CU_ASSERT_PTR_NULL(event_of("{\"type\":\"x\",\"config\":{}}"));
    CU_ASSERT_PTR_NULL(
        event_of("{\"error\":{\"code\":400,\"err_code\":10058,\"description\":\"\"}}"));
}

static void keys_have_subjects(void)
{
    CU_ASSERT_STRING_EQUAL(transport_nats_key("c", "$KV.ragno_c.agent.3"), "agent.3");
    CU_ASSERT_PTR_NULL(transport_nats_key("d", "$KV.ragno_c.agent.3"));
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

UNIT_MAIN("transport_nats", {"a look finds a value or none", a_look_finds_a_value_or_none},
          {"an empty value is a value", an_empty_value_is_a_value},
          {"what is not understood is a failure with words",
           what_is_not_understood_is_a_failure_with_words},
          {"a put is stored or conflicts", a_put_is_stored_or_conflicts},
          {"keys have subjects", keys_have_subjects}, {"logins are read", logins_are_read},
          {"wrong logins are refused without their secrets",
           wrong_logins_are_refused_without_their_secrets})
