/* The event log: one line for each event, `TIME LEVEL THREAD COMPONENT: PHRASE key=value ...`.
 *
 * What: phrases are fixed strings, so that they can be counted; what varies goes into key=value.
 * ERROR: the operator must act. WARN: the program coped. INFO: what happened; the misbehaviour of a
 * remote host is INFO.
 * Owns: the sink, which is the one piece of global state in the program.
 * Threads: any; its lock is taken last. */
#pragma once

#include <stdbool.h>

#include "base/core/result.h"

/* clang-format off */
#define LOG_LEVEL_WORDS(WORD) \
    WORD(LOG_LEVEL_ERROR, "error") \
    WORD(LOG_LEVEL_WARN, "warn") \
    WORD(LOG_LEVEL_INFO, "info") \
    WORD(LOG_LEVEL_DEBUG, "debug")
/* clang-format on */
typedef enum LogLevel { WORDS_ENUM(LOG_LEVEL_WORDS) } LogLevel;

/* Events go to path (appended) from now on; NULL = standard error only. Events of level echo or
 * more urgent are repeated on standard error. RESULT_IO and the like: the sink is as before. */
Result log_open(const char *path, LogLevel level, LogLevel echo);
/* Opens the same path anew, for log rotation. */
Result log_reopen(void);
void log_close(void);
void log_set_level(LogLevel level);

/* Called before an event is repeated on standard error, so that the owner of a progress line can
 * erase it; the owner draws the line again later. Set once; NULL ends it. */
void log_set_echo_hook(void (*before_echo)(void));

bool log_enabled(LogLevel level);
void log_event(LogLevel level, const char *component, const char *phrase, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define LOG_ERROR(component, phrase, ...) log_event(LOG_LEVEL_ERROR, component, phrase, __VA_ARGS__)
#define LOG_WARN(component, phrase, ...)  log_event(LOG_LEVEL_WARN, component, phrase, __VA_ARGS__)
#define LOG_INFO(component, phrase, ...)  log_event(LOG_LEVEL_INFO, component, phrase, __VA_ARGS__)
#define LOG_DEBUG(component, phrase, ...) log_event(LOG_LEVEL_DEBUG, component, phrase, __VA_ARGS__)

/* The name of the calling thread in log lines; set by thread_start. */
void log_set_thread_name(const char *name);
