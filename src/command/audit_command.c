#include "command/audit_command.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/pages/page_db_open.h"
#include "audit/audit.h"
#include "audit/audit_text.h"
#include "crawl/when.h"
#include "crawl/crawl_view.h"
#include "crawl/exit_status.h"

typedef struct AuditCommand {
    AuditOptions options;
    IpRanges ips;
    bool has_ips;
    bool json;
} AuditCommand;

static int audit_command_usage(FILE *out)
{
    (void)fprintf(
        out,
        "usage: ragno audit DIR [OPTION]...\n"
        "Proves from crawl.log that no host and no address was asked too soon and that nothing "
        "was\n"
        "fetched that robots.txt forbade. Prints breaches with their lines, and the closest "
        "calls.\n"
        "With --host or --ip, first the answer to a complaint: every request, with its time, and\n"
        "the robots.txt that was in force.\n"
        "  --host HOST    requests of this host and what is below it; also a URL of it, "
        "HOST:PORT,\n"
        "                 an address, or a pattern such as '*.example.org'\n"
        "  --ip ADDRESS   requests of this address, or of a range such as 192.0.2.0/24\n"
        "  --day DAY      requests of one day (UTC): 2026-01-31, today, yesterday\n"
        "  --since TIME   later ones: 2026-01-31, 2026-01-31T12:00, or how long ago: 6h, 2d\n"
        "  --until TIME   earlier ones\n"
        "  --log FILE     instead of DIR/crawl.log; FILE.1, FILE.2.gz ... are read, too\n"
        "  --json         the figures and breaches as one JSON object\n"
        "Exit: 0 no breach, 1 a breach, 2 wrong usage, 3 there is no log.\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int audit_command_complain(const char *option, const char *value, const char *expected)
{
    (void)fprintf(stderr, "ragno audit: %s '%s': expected %s\n", option, value, expected);
    return EXIT_USAGE;
}

static int take_ip(AuditCommand *command, const char *list)
{
    Buffer error;
    buffer_init(&error, 4096);
    Result rc = ip_ranges_parse(&command->ips, list, &error);
    buffer_destroy(&error);
    if (rc != RESULT_OK) {
        return audit_command_complain("--ip", list,
                                      "an address or a range, such as 192.0.2.7 or 192.0.2.0/24");
    }
    command->has_ips = true;
    return 0;
}

static int audit_command_take_option(AuditCommand *command, int option, WallTime now)
{
    static const char times[] = "a time such as 2026-01-31, 2026-01-31T12:00 or 6h (ago)";
    AuditOptions *options = &command->options;
    switch (option) {
    case 'h':
        options->host = optarg;
        return 0;
    case 'i':
        return take_ip(command, optarg);
    case 'd':
        return when_parse_day(optarg, now, &options->from, &options->until) == RESULT_OK
                   ? 0
                   : audit_command_complain("--day", optarg,
                                            "a day such as 2026-01-31, today or yesterday");
    case 's':
        return when_parse(optarg, now, &options->from) == RESULT_OK
                   ? 0
                   : audit_command_complain("--since", optarg, times);
    case 'u':
        return when_parse(optarg, now, &options->until) == RESULT_OK
                   ? 0
                   : audit_command_complain("--until", optarg, times);
    case 'l':
        options->log = optarg;
        return 0;
    case 'j':
        command->json = true;
        return 0;
    default:
        return audit_command_usage(stderr);
    }
}

/* 0, an exit status, or -1: help was printed. */
static int audit_command_parse(AuditCommand *command, int argc, char **argv)
{
    static const struct option options[] = {{"host", required_argument, NULL, 'h'},
                                            {"ip", required_argument, NULL, 'i'},
                                            {"day", required_argument, NULL, 'd'},
                                            {"since", required_argument, NULL, 's'},
                                            {"until", required_argument, NULL, 'u'},
                                            {"log", required_argument, NULL, 'l'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, '?' + 256},
                                            {NULL, 0, NULL, 0}};
    WallTime now = wall_now();
    optind = 0;
    for (int o = 0; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == '?' + 256) {
            (void)audit_command_usage(stdout);
            return -1;
        }
        int status = audit_command_take_option(command, o, now);
        if (status != 0) {
            return status;
        }
    }
    if (argc - optind != 1) {
        return audit_command_usage(stderr);
    }
    command->options.directory = argv[optind];
    return 0;
}

static Result audit_command_print(Audit *audit, const AuditCommand *command,
                                  AuditComplaint *complaint)
{
    Buffer out;
    Result rc = RESULT_OK;
    if (complaint != NULL) {
        rc = audit_complaint_print(complaint, audit, &command->options, stdout);
    }
    if (rc != RESULT_OK) {
        return rc;
    }
    buffer_init(&out, BUFFER_NO_LIMIT);
    rc = audit_write(audit, command->json ? REPORT_AS_JSON : REPORT_AS_TEXT, &out);
    (void)fwrite(buffer_string(&out), 1, out.length, stdout);
    buffer_destroy(&out);
    return rc;
}

static int audit_command_exit_status(Result rc)
{
    if (rc == RESULT_NOT_FOUND || rc == RESULT_IO || rc == RESULT_FULL) {
        return EXIT_IO;
    }
    return rc == RESULT_INVALID ? EXIT_USAGE : EXIT_INTERNAL;
}

static int audit_command_run(AuditCommand *command, PageDB *db)
{
    Audit audit;
    AuditComplaint *complaint = NULL;
    Buffer error;
    buffer_init(&error, 65536);
    Result rc = RESULT_OK;
    if ((command->options.host != NULL || command->has_ips) && !command->json) {
        rc = audit_complaint_new(&complaint);
        if (rc != RESULT_OK) {
            (void)fprintf(stderr, "ragno audit: no temporary file: %s\n", result_name(rc));
            (void)page_db_delete(db);
            return audit_command_exit_status(rc);
        }
        command->options.sink = audit_complaint_sink(complaint);
    }
    rc = audit_run(&audit, &command->options, db, &error);
    int status = 0;
    if (rc == RESULT_OK) {
        rc = audit_command_print(&audit, command, complaint);
        status = audit_findings_total(&audit.findings) > 0 ? EXIT_NEGATIVE : 0;
        if (fflush(stdout) != 0 || ferror(stdout)) {
            (void)buffer_printf(&error, "standard output cannot be written");
            rc = RESULT_IO;
        }
    }
    if (rc != RESULT_OK) {
        (void)fprintf(stderr, "ragno audit: %s\n",
                      error.length == 0 ? result_name(rc) : buffer_string(&error));
        status = audit_command_exit_status(rc);
    }
    audit_destroy(&audit);
    audit_complaint_delete(complaint);
    buffer_destroy(&error);
    return status;
}

int audit_main(int argc, char **argv)
{
    AuditCommand command = {.options = {.from = {INT64_MIN}, .until = {INT64_MAX}}};
    PageDB *db = NULL;
    int status = audit_command_parse(&command, argc, argv);
    if (status == 0) {
        command.options.ips = command.has_ips ? &command.ips : NULL;
        /* Logs alone can be audited, too. */
        status = crawl_open_is_crawl(command.options.directory)
                     ? crawl_open("audit", command.options.directory, true, &db)
                     : 0;
        status = status == 0 ? audit_command_run(&command, db) : status;
    }
    ip_ranges_destroy(&command.ips);
    return status < 0 ? 0 : status;
}
