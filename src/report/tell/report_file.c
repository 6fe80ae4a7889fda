#include "report/tell/report_file.h"

#include <errno.h>
#include <stdio.h>

#include "base/memory/file.h"
#include "report/tell/report_sections.h"

#define REPORT_LABELS 38u /* columns */

static Result report_put(const Report *report, ReportForm form, Buffer *text)
{
    ReportWriter *writer = NULL;
    Result rc = report_writer_new(&writer, form, REPORT_LABELS, text);
    if (rc != RESULT_OK) {
        return rc;
    }
    report_tell(report, writer);
    return report_writer_end(writer);
}

Result report_print(const Report *report, ReportForm form, FILE *out)
{
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    Result rc = report_put(report, form, &text);
    if (rc == RESULT_OK &&
        (fwrite(text.data, 1, text.length, out) != text.length || fflush(out) != 0)) {
        rc = errno == 0 ? RESULT_IO : result_of_errno(errno);
    }
    buffer_destroy(&text);
    return rc;
}

Result report_write(const char *directory, PageDB *db, ReportForm form, Buffer *error)
{
    Report report;
    Path path;
    Buffer text = {.limit = BUFFER_NO_LIMIT};
    (void)file_path(&path, "%s/%s", directory,
                    form == REPORT_AS_HTML ? "report.html" : "report.txt");
    Result rc = report_gather(&report, directory, db, wall_now(), NULL, error);
    if (rc == RESULT_OK) {
        rc = report_put(&report, form, &text);
    }
    if (rc == RESULT_OK) {
        rc = file_replace(path.text, buffer_string(&text), text.length);
    }
    if (rc != RESULT_OK && error->length == 0) {
        (void)buffer_printf(error, "%s: %s", path.text, result_name(rc));
    }
    report_destroy(&report);
    buffer_destroy(&text);
    return rc;
}
