/* Web hosts: a survey of the hosts (survey.h) as JSON, for the status page. Pure. */
#ifndef CRAWL_WEB_WEB_HOSTS_H
#define CRAWL_WEB_WEB_HOSTS_H

#include "survey/survey.h"

/* Appends one object: counts of all hosts, and the rows. */
Result web_hosts(const SurveyResult *survey, WallTime now, Buffer *out);

#endif
