#include "report/tell/report_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/tell/report_html.h"
#include "report/tell/report_json.h"
#include "report/tell/report_sections.h"
#include "report/tell/report_text.h"

static Result print_html(const Report *report, FILE *out)
{
    ReportHtml *page = NULL;
    Result rc = report_html_new(&page, out);
    if (rc == RESULT_OK) {
        ReportWriter writer = report_html_writer(page);
        rc = report_tell(report, &writer);
    }
    report_html_delete(page);
    return rc;
}

static Result print_text(const Report *report, FILE *out)
{
    ReportText *text = NULL;
    Result rc = report_text_new(&text, out);
    if (rc == RESULT_OK) {
        ReportWriter writer = report_text_writer(text);
        rc = report_tell(report, &writer);
    }
    report_text_delete(text);
    return rc;
}

Result report_print(const Report *report, ReportForm form, FILE *out)
{
    return form == REPORT_AS_JSON   ? report_json_print(report, out)
           : form == REPORT_AS_HTML ? print_html(report, out)
                                    : print_text(report, out);
}

/* Writes to a file beside path and renames it. */
static Result print_to(const Report *report, ReportForm form, const char *path, const char *beside)
{
    FILE *out = fopen(beside, "we");
    if (out == NULL) {
        return result_of_errno(errno);
    }
    Result rc = report_print(report, form, out);
    if (fclose(out) != 0 && rc == RESULT_OK) {
        rc = result_of_errno(errno);
    }
    if (rc == RESULT_OK && rename(beside, path) != 0) {
        rc = result_of_errno(errno);
    }
    if (rc != RESULT_OK) {
        (void)unlink(beside);
    }
    return rc;
}

Result report_write(const char *directory, PageDB *db, ReportForm form, Buffer *error)
{
    Report report;
    Buffer path;
    Buffer beside;
    const char *name = form == REPORT_AS_HTML ? "report.html" : "report.txt";
    buffer_init(&path, BUFFER_NO_LIMIT);
    buffer_init(&beside, BUFFER_NO_LIMIT);
    Result rc = report_gather(&report, directory, db, wall_now(), NULL, error);
    if (rc == RESULT_OK) {
        rc = buffer_printf(&path, "%s/%s", directory, name);
    }
    if (rc == RESULT_OK) {
        rc = buffer_printf(&beside, "%s/%s.new", directory, name);
    }
    if (rc == RESULT_OK) {
        rc = print_to(&report, form, buffer_string(&path), buffer_string(&beside));
    }
    if (rc != RESULT_OK && error->length == 0) {
        (void)buffer_printf(error, "%s/%s: %s", directory, name, result_name(rc));
    }
    report_destroy(&report);
    buffer_destroy(&path);
    buffer_destroy(&beside);
    return rc;
}
