#include "crawl/desk/desk_settings.h"

#include <string.h>

#include "crawl/desk/desk_reply.h"

/* An answer of several lines (mistakes) becomes lines of data and a last sentence. */
void desk_settled(Desk *desk, const DeskRequest *request, Result rc, Buffer *answer)
{
    const char *text = answer->length > 0 ? buffer_string(answer) : result_name(rc);
    char *end = answer->length > 0 ? strrchr(answer->data, '\n') : NULL;
    if (end != NULL && end[1] == '\0') {
        *end = '\0';
    }
    if (rc == RESULT_OK || rc == RESULT_EXISTS) {
        desk_done(desk, request, "%s", text);
    } else if (rc == RESULT_INVALID) {
        desk_misunderstand(desk, request, "%s", text);
    } else {
        desk_refuse(desk, request, "%s", text);
    }
}

/* ---- get ------------------------------------------------------------------------------------- */

/* "politeness.host_delay", "politeness", or nothing. */
static bool is_asked(const OptionSpec *spec, const char *word)
{
    size_t length = strlen(spec->section);
    bool of_section = strncmp(word, spec->section, length) == 0;
    return *word == '\0' || (of_section && word[length] == '\0') ||
           (of_section && word[length] == '.' && strcmp(word + length + 1, spec->key) == 0);
}

void desk_get(Desk *desk, const DeskRequest *request)
{
    const Options *options = &desk->helm->options->config->options;
    const char *word = request->n > 1 ? request->words[1] : "";
    const char *origin = NULL;
    size_t found = 0;
    for (size_t i = 0; i < options->n_specs; i++) {
        const OptionSpec *spec = &options->specs[i];
        if (is_asked(spec, word)) {
            desk_say(desk, request->client, "%s.%s = %s", spec->section, spec->key,
                     options->texts[i]);
            origin = options->origins[i];
            found++;
        }
    }
    for (size_t i = 0; i < options->n_sites; i++) {
        const OptionSite *site = &options->sites[i];
        const OptionSpec *spec = &options->specs[site->spec];
        if (is_asked(spec, word)) {
            desk_say(desk, request->client, "[site \"%s\"] %s.%s = %s", site->pattern,
                     spec->section, spec->key, site->text);
        }
    }
    if (found == 0) {
        Buffer error;
        Config nothing;
        buffer_init(&error, 4096);
        if (config_init(&nothing) == RESULT_OK) {
            (void)options_set(&nothing.options, word, "", "", &error); /* names the nearest one */
            config_destroy(&nothing);
        }
        desk_settled(desk, request, RESULT_INVALID, &error);
        buffer_destroy(&error);
    } else if (found == 1) {
        desk_done(desk, request, "from %s; %s", origin,
                  options_find(options, word)->live ? "may change while the crawl runs"
                                                    : "fixed while the crawl runs");
    } else {
        desk_ok(desk, request);
    }
}

/* ---- set ------------------------------------------------------------------------------------- */

void desk_set(Desk *desk, const DeskRequest *request)
{
    Buffer name;
    Buffer answer;
    const char *equals = strchr(request->words[1], '=');
    const char *text = request->n > 2 ? request->words[2] : equals == NULL ? NULL : equals + 1;
    if (text == NULL || (request->n > 2 && equals != NULL)) {
        desk_misunderstand(desk, request, "set: expected SECTION.KEY=VALUE or SECTION.KEY VALUE");
        return;
    }
    buffer_init(&name, BUFFER_NO_LIMIT);
    buffer_init(&answer, BUFFER_NO_LIMIT);
    size_t length =
        equals == NULL ? strlen(request->words[1]) : (size_t)(equals - request->words[1]);
    (void)buffer_append(&name, request->words[1], length);
    Result rc =
        settings_set(&desk->helm->settings, "", buffer_string(&name), text, request->who, &answer);
    desk_settled(desk, request, rc, &answer);
    buffer_destroy(&name);
    buffer_destroy(&answer);
}

void desk_unset(Desk *desk, const DeskRequest *request)
{
    Buffer answer;
    buffer_init(&answer, BUFFER_NO_LIMIT);
    Result rc = settings_unset(&desk->helm->settings, "", request->words[1], request->who, &answer);
    desk_settled(desk, request, rc, &answer);
    buffer_destroy(&answer);
}
