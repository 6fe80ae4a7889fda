#include "report/tell/report_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "report/tell/report_sections.h"

#define REPORT_LABELS 38u /* columns */

Result report_print(const Report *report, ReportForm form, FILE *out)
{
    Buffer text;
    ReportWriter *writer = NULL;
    buffer_init(&text, BUFFER_NO_LIMIT);
    Result rc = report_writer_new(&writer, form, REPORT_LABELS, &text);
    if (rc == RESULT_OK) {
        report_tell(report, writer);
        rc = report_writer_end(writer);
    }
    if (rc == RESULT_OK &&
        (fwrite(text.data, 1, text.length, out) != text.length || fflush(out) != 0)) {
        rc = errno == 0 ? RESULT_IO : result_of_errno(errno);
    }
    buffer_destroy(&text);
    return rc;
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
