/* Web hosts: the hosts as the status page reads them.
 *
 * What: writes a survey (survey.h) as JSON.
 * Threads: any; pure. */
#ifndef CRAWL_WEB_WEB_HOSTS_H
#define CRAWL_WEB_WEB_HOSTS_H

#include "survey/survey.h"

/* Appends one object: counts of all hosts, and the rows. */
Result web_hosts(const SurveyResult *survey, WallTime now, Buffer *out);

#endif
