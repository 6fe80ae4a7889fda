#include "command/audit_command.h"

#include <stdio.h>

#include "audit/audit_text.h"
#include "base/memory/embed.h"
#include "crawl/command_line.h"
#include "crawl/when.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"

typedef struct AuditCommand {
    AuditOptions options;
    IpRanges ips;
    bool json;
} AuditCommand;

EMBED(audit_usage, "src/command/audit_command.txt");

static int audit_command_complain(const char *option, const char *value, const char *expected)
{
    (void)fprintf(stderr, "ragno audit: %s '%s': expected %s\n", option, value, expected);
    return EXIT_USAGE;
}

static int audit_take_ip(void *to, const char *list)
{
    AuditCommand *command = to;
    Buffer error = {.limit = 4096};
    Result rc = ip_ranges_parse(&command->ips, list, &error);
    buffer_destroy(&error);
    if (rc != RESULT_OK) {
        return audit_command_complain("--ip", list,
                                      "an address or a range, such as 192.0.2.7 or 192.0.2.0/24");
    }
    command->options.ips = &command->ips;
    return 0;
}

static int audit_take_day(void *to, const char *value)
{
    AuditOptions *options = to;
    return when_parse_day(value, wall_now(), &options->from, &options->until) == RESULT_OK
               ? 0
               : audit_command_complain("--day", value,
                                        "a day such as 2026-01-31, today or yesterday");
}

static int audit_take_time(void *to, const char *value)
{
    return when_parse(value, wall_now(), to) == RESULT_OK
               ? 0
               : audit_command_complain("--since, --until", value,
                                        "a time such as 2026-01-31, 2026-01-31T12:00 or 6h (ago)");
}

/* 0, an exit status, or COMMAND_HELPED. */
static int audit_command_parse(AuditCommand *command, int argc, char **argv)
{
    AuditOptions *asked = &command->options;
    const CommandOption options[] = {
        {"host", 0, COMMAND_TEXT, .to = &asked->host},
        {"ip", 0, COMMAND_TAKE, .to = command, .take = audit_take_ip},
        {"day", 0, COMMAND_TAKE, .to = asked, .take = audit_take_day},
        {"since", 0, COMMAND_TAKE, .to = &asked->from, .take = audit_take_time},
        {"until", 0, COMMAND_TAKE, .to = &asked->until, .take = audit_take_time},
        {"log", 0, COMMAND_TEXT, .to = &asked->log},
        {"json", 0, COMMAND_FLAG, .to = &command->json}};
    CommandLine line = {"audit", audit_usage, COMMAND_ROWS(options), .words_least = 1,
                        .words_most = 1};
    int status = command_line_take(&line, argc, argv);
    asked->directory = status == 0 ? line.words[0] : NULL;
    return status;
}

static int audit_command_run(AuditCommand *command, PageDB *db)
{
    Audit audit;
    AuditRequests requests = {.audit = &audit, .out = stdout};
    Buffer error = {.limit = 65536};
    Buffer out = {.limit = BUFFER_NO_LIMIT};
    int status = 0;
    if ((command->options.host != NULL || command->options.ips != NULL) && !command->json) {
        command->options.sink = audit_requests_sink(&requests);
    }
    Result rc = audit_run(&audit, &command->options, db, &error);
    if (rc == RESULT_OK) {
        rc = requests.result;
    }
    if (rc == RESULT_OK) {
        rc = audit_write(&audit, command->json ? REPORT_AS_JSON : REPORT_AS_TEXT, &out);
    }
    if (rc == RESULT_OK) {
        (void)fputs(requests.has_begun ? "\n" : "", stdout);
        (void)fwrite(buffer_string(&out), 1, out.length, stdout);
        status = log_reader_problem(audit.reader) == NULL ? 0 : EXIT_IO;
        status = audit_findings_total(&audit.findings) > 0 ? EXIT_NEGATIVE : status;
    }
    audit_destroy(&audit);
    buffer_destroy(&out);
    int failed = exit_status_tell("audit", rc, &error);
    return failed == 0 ? status : failed;
}

int audit_main(int argc, char **argv)
{
    AuditCommand command = {.options = {.from = {INT64_MIN}, .until = {INT64_MAX}}};
    PageDB *db = NULL;
    int status = audit_command_parse(&command, argc, argv);
    if (status == 0) {
        /* Logs alone can be audited, too. */
        status = crawl_open_is_crawl(command.options.directory)
                     ? crawl_open("audit", command.options.directory, true, &db)
                     : 0;
    }
    if (status == 0) {
        status = audit_command_run(&command, db);
    }
    ip_ranges_destroy(&command.ips);
    return status == COMMAND_HELPED ? 0 : status;
}
